// SPDX-License-Identifier: Apache-2.0
//! Finds libmdist, or builds it. The first of these that applies:
//!
//! 1. MDIST_LIB_DIR and MDIST_INCLUDE_DIR name the folders of the library and of its headers.
//! 2. MDIST_BUNDLED=1, or the feature `bundled` without MDIST_BUNDLED=0, builds the sources that
//!    came with this crate.
//! 3. pkg-config knows where it is.
//!
//! MDIST_STATIC=1 links the static library, and with it what the library itself needs. Dependents
//! read the folder of the headers from DEP_MDIST_INCLUDE.
#[path = "link/bundled.rs"]
mod bundled;
#[path = "link/installed.rs"]
mod installed;
#[path = "link/version.rs"]
mod version;

use std::env;
use std::process::exit;

const OVERRIDES: [&str; 4] = [
    "MDIST_LIB_DIR",
    "MDIST_INCLUDE_DIR",
    "MDIST_STATIC",
    "MDIST_BUNDLED",
];
const PKG_CONFIG: [&str; 3] = ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"];
const COMPILERS: [&str; 4] = ["CC", "CXX", "CFLAGS", "CXXFLAGS"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=link");
    for name in OVERRIDES
        .iter()
        .chain(&PKG_CONFIG)
        .chain(&COMPILERS)
        .chain(&["DOCS_RS"])
    {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let is_static = switch("MDIST_STATIC").unwrap_or(false);
    let is_bundled =
        switch("MDIST_BUNDLED").unwrap_or_else(|| set("CARGO_FEATURE_BUNDLED").is_some());
    if set("DOCS_RS").is_some() {
        return; // documentation needs no library, and docs.rs has none
    }
    match set("MDIST_LIB_DIR") {
        Some(folder) => installed::link_from(&folder, is_static),
        None if is_bundled => bundled::build_and_link(),
        None => installed::link_by_pkg_config(is_static),
    }
}

/// A variable that is there and not empty.
fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn switch(name: &str) -> Option<bool> {
    match set(name)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        other => fail(&format!("{name} is \"{other}\"; it can be 0 or 1")),
    }
}

/// Ends the build.
fn fail(sentence: &str) -> ! {
    eprintln!("mdist-sys: {sentence}");
    exit(1)
}
