// SPDX-License-Identifier: Apache-2.0
//! Which versions of libmdist this crate can use: those of its own 0.N, from its own on.
use std::fs;
use std::path::Path;

use crate::fail;

/// The name of the library that programs load; it changes when their calls no longer fit.
pub const SONAME: &str = "libmdist.so.2";
const OWN: &str = env!("CARGO_PKG_VERSION");

/// Ends the build if a version does not fit.
pub fn check(found: &str, place: &str) {
    if fits(found) == Some(true) {
        return;
    }
    let own = parts(OWN).unwrap_or_default();
    fail(&format!(
        "{place} is libmdist {found}; this crate is mdist-sys {OWN}, which needs libmdist {OWN} or a later {}.{}. \
         Install that, or use the crate of the library's version",
        own[0], own[1]
    ))
}

fn fits(found: &str) -> Option<bool> {
    let (own, found) = (parts(OWN)?, parts(found)?);
    Some(found[..2] == own[..2] && found[2] >= own[2])
}

fn parts(version: &str) -> Option<[u32; 3]> {
    let mut parts = [0; 3];
    for (part, text) in parts.iter_mut().zip(version.split(['.', '-'])) {
        *part = text.parse().ok()?;
    }
    Some(parts)
}

/// Looks at `mdist/base.h` in a folder of headers.
pub fn check_headers(folder: &str) {
    let file = Path::new(folder).join("mdist/base.h");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| {
        fail(&format!(
            "MDIST_INCLUDE_DIR is {folder}, and {} cannot be read: {error}. Set it to the folder that has \
             mdist/base.h",
            file.display()
        ))
    });
    let part = |name: &str| {
        let define = format!("#define MDIST_VERSION_{name} ");
        text.lines()
            .find_map(|line| line.strip_prefix(&define))
            .unwrap_or("?")
            .trim()
    };
    let version = [part("MAJOR"), part("MINOR"), part("PATCH")].join(".");
    check(&version, &file.display().to_string());
}

/// Looks for the name that a shared library gives itself.
pub fn check_soname(file: &Path) {
    let bytes = fs::read(file)
        .unwrap_or_else(|error| fail(&format!("{} cannot be read: {error}", file.display())));
    let stem = b"\0libmdist.so.";
    let mut names = bytes
        .windows(stem.len())
        .enumerate()
        .filter(|(_, window)| window == stem)
        .map(|(at, _)| {
            let name = &bytes[at + 1..];
            String::from_utf8_lossy(&name[..name.iter().position(|byte| *byte == 0).unwrap_or(0)])
                .into_owned()
        });
    match names.next() {
        Some(name) if name == SONAME || names.any(|name| name == SONAME) => {}
        Some(name) => fail(&format!(
            "{} is {name}; this crate is mdist-sys {OWN}, which needs {SONAME}. Set MDIST_LIB_DIR to its folder",
            file.display()
        )),
        None => fail(&format!(
            "{} does not call itself {SONAME}. Set MDIST_LIB_DIR to the folder of libmdist",
            file.display()
        )),
    }
}
