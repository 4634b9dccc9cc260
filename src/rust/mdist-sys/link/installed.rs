// SPDX-License-Identifier: Apache-2.0
//! Links a libmdist that is there already.
use std::fs;
use std::process::Command;

use crate::{fail, set, version};

/// What libmdist.a needs beside itself.
const NEEDED_BY_STATIC: [&str; 6] = ["yaml", "z", "sodium", "stdc++", "pthread", "m"];

pub fn link_from(folder: &str, is_static: bool) {
    let name = if is_static {
        "libmdist.a"
    } else {
        "libmdist.so"
    };
    let file = fs::canonicalize(folder)
        .map(|folder| folder.join(name))
        .unwrap_or_else(|error| {
            fail(&format!(
                "MDIST_LIB_DIR is {folder}: {error}. Set it to the folder of {name}"
            ))
        });
    if !file.exists() {
        fail(&format!(
            "MDIST_LIB_DIR is {folder}, which has no {name}. Set it to the folder of {name}"
        ));
    }
    if !is_static {
        version::check_soname(&file);
    }
    println!("cargo:rerun-if-changed={}", file.display());
    println!(
        "cargo:rustc-link-search=native={}",
        file.with_file_name("").display()
    );
    link_mdist(is_static);
    if is_static {
        for library in NEEDED_BY_STATIC {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    if let Some(include) = set("MDIST_INCLUDE_DIR") {
        version::check_headers(&include);
        println!("cargo:include={include}");
    }
}

fn link_mdist(is_static: bool) {
    println!(
        "cargo:rustc-link-lib={}mdist",
        if is_static { "static=" } else { "" }
    );
}

pub fn link_by_pkg_config(is_static: bool) {
    version::check(
        pkg_config(&["--modversion", "mdist"]).trim(),
        "what pkg-config finds",
    );
    let mode: &[&str] = if is_static { &["--static"] } else { &[] };
    link_flags(
        &pkg_config(&[mode, &["--libs", "mdist"]].concat()),
        is_static,
    );
    let include =
        set("MDIST_INCLUDE_DIR").unwrap_or_else(|| pkg_config(&["--variable=includedir", "mdist"]));
    println!("cargo:include={}", include.trim());
}

/// Tells cargo what pkg-config tells a linker.
pub fn link_flags(flags: &str, is_static: bool) {
    for flag in flags.split_whitespace() {
        match flag.split_at(flag.len().min(2)) {
            ("-L", folder) => println!("cargo:rustc-link-search=native={folder}"),
            ("-l", "mdist") => link_mdist(is_static),
            ("-l", library) => println!("cargo:rustc-link-lib={library}"),
            _ => {} // for the C compiler
        }
    }
}

fn pkg_config(arguments: &[&str]) -> String {
    let program = pkg_config_program();
    let output = Command::new(&program).arg("--print-errors").args(arguments).output().unwrap_or_else(|error| {
        fail(&format!(
            "cannot run {program}: {error}; install it, or set MDIST_LIB_DIR, or build libmdist with MDIST_BUNDLED=1"
        ))
    });
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        fail(&format!(
            "{reason}install libmdist, point PKG_CONFIG_PATH at the folder of its mdist.pc, set MDIST_LIB_DIR to the \
             folder of libmdist.so, or build libmdist with MDIST_BUNDLED=1"
        ));
    }
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn pkg_config_program() -> String {
    set("PKG_CONFIG").unwrap_or_else(|| "pkg-config".to_string())
}
