// SPDX-License-Identifier: Apache-2.0
//! Finds libmdist: where MDIST_LIB_DIR and MDIST_INCLUDE_DIR say, else by pkg-config.
//!
//! MDIST_STATIC=1 links the static library, and with it what the library itself needs. Dependents
//! read the folder of the headers from DEP_MDIST_INCLUDE.
use std::env;
use std::process::{exit, Command};

const OVERRIDES: [&str; 3] = ["MDIST_LIB_DIR", "MDIST_INCLUDE_DIR", "MDIST_STATIC"];
const PKG_CONFIG: [&str; 3] = ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"];
const NEEDED_BY_STATIC: [&str; 6] = ["yaml", "z", "sodium", "stdc++", "pthread", "m"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for name in OVERRIDES.iter().chain(&PKG_CONFIG).chain(&["DOCS_RS"]) {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let is_static = match set("MDIST_STATIC").as_deref() {
        None | Some("0") => false,
        Some("1") => true,
        Some(other) => fail(&format!("MDIST_STATIC is \"{other}\"; it can be 0 or 1")),
    };
    if set("DOCS_RS").is_some() {
        return; // documentation needs no library, and docs.rs has none
    }
    match set("MDIST_LIB_DIR") {
        Some(folder) => link_from(&folder, is_static),
        None => link_by_pkg_config(is_static),
    }
}

/// A variable that is there and not empty.
fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn link_from(folder: &str, is_static: bool) {
    println!("cargo:rustc-link-search=native={folder}");
    link_mdist(is_static);
    if is_static {
        for library in NEEDED_BY_STATIC {
            println!("cargo:rustc-link-lib={library}");
        }
    }
    if let Some(include) = set("MDIST_INCLUDE_DIR") {
        println!("cargo:include={include}");
    }
}

fn link_mdist(is_static: bool) {
    println!(
        "cargo:rustc-link-lib={}mdist",
        if is_static { "static=" } else { "" }
    );
}

fn link_by_pkg_config(is_static: bool) {
    let mode: &[&str] = if is_static { &["--static"] } else { &[] };
    for flag in pkg_config(&[mode, &["--libs", "mdist >= 0.3"]].concat()).split_whitespace() {
        match flag.split_at(flag.len().min(2)) {
            ("-L", folder) => println!("cargo:rustc-link-search=native={folder}"),
            ("-l", "mdist") => link_mdist(is_static),
            ("-l", library) => println!("cargo:rustc-link-lib={library}"),
            _ => {} // for the C compiler
        }
    }
    let include =
        set("MDIST_INCLUDE_DIR").unwrap_or_else(|| pkg_config(&["--variable=includedir", "mdist"]));
    println!("cargo:include={}", include.trim());
}

fn pkg_config(arguments: &[&str]) -> String {
    let program = set("PKG_CONFIG").unwrap_or_else(|| "pkg-config".to_string());
    let output = Command::new(&program)
        .arg("--print-errors")
        .args(arguments)
        .output()
        .unwrap_or_else(|error| {
            fail(&format!(
                "cannot run {program}: {error}; install it, or set MDIST_LIB_DIR"
            ))
        });
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        fail(&format!(
            "{reason}install libmdist, point PKG_CONFIG_PATH at its mdist.pc, or set MDIST_LIB_DIR"
        ));
    }
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fail(sentence: &str) -> ! {
    eprintln!("mdist-sys: {sentence}");
    exit(1)
}
