// SPDX-License-Identifier: Apache-2.0
//! Builds libmdist.a with Meson from the sources in the crate, or from those around it in libmdist's
//! own tree. Downloads nothing: what libmdist needs must be there.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installed::{link_flags, pkg_config_program};
use crate::{fail, set};

const PROGRAMS: [(&str, &str); 2] = [("meson", "meson"), ("ninja", "ninja-build")];
/// Names for pkg-config, for people, and Debian's.
const LIBRARIES: [(&str, &str, &str); 3] = [
    ("yaml-0.1", "libyaml", "libyaml-dev"),
    ("zlib", "zlib", "zlib1g-dev"),
    (
        "nlohmann_json",
        "the headers of nlohmann-json",
        "nlohmann-json3-dev",
    ),
];
/// As part of another project, libmdist is the library alone.
const PROJECT: &str = "project('bundled', 'c')\nsubproject('mdist')\n";
const ARCHIVE: &str = "subprojects/mdist/lib/libmdist.a";

pub fn build_and_link() {
    let sources = sources();
    let (host, target) = (variable("HOST"), variable("TARGET"));
    if host != target {
        fail(&format!(
            "the bundled libmdist can be built for {host} alone, where this build runs, and not for {target}. Set \
             MDIST_LIB_DIR to the folder of a libmdist for {target}"
        ));
    }
    check_requirements();
    let has_sodium = pkg_config_has("libsodium");
    let out = PathBuf::from(variable("OUT_DIR"));
    let (project, build) = (out.join("project"), out.join("build"));
    prepare(&project, &build, &sources)
        .unwrap_or_else(|error| fail(&format!("cannot write in {}: {error}", out.display())));

    let sodium = format!(
        "-Dmdist:sodium={}",
        if has_sodium { "enabled" } else { "disabled" }
    );
    let options = [
        "setup",
        "--buildtype=release",
        "--wrap-mode=nodownload",
        "-Dmdist:gpu=disabled",
        &sodium,
    ];
    run(Command::new("meson")
        .args(options)
        .arg(&build)
        .arg(&project));
    run(Command::new("ninja")
        .arg("-C")
        .arg(&build)
        .arg("-j")
        .arg(variable("NUM_JOBS"))
        .arg(ARCHIVE));

    let archive = build.join(ARCHIVE);
    println!(
        "cargo:rustc-link-search=native={}",
        archive.with_file_name("").display()
    );
    println!("cargo:rustc-link-lib=static=mdist");
    let needed = LIBRARIES
        .iter()
        .map(|(name, _, _)| *name)
        .chain(has_sodium.then_some("libsodium"));
    let flags = Command::new(pkg_config_program())
        .arg("--libs")
        .args(needed)
        .output();
    link_flags(
        &String::from_utf8_lossy(&flags.expect("it has run before").stdout),
        false,
    );
    for library in ["stdc++", "pthread", "m"] {
        println!("cargo:rustc-link-lib={library}");
    }
    println!("cargo:include={}", sources.join("include").display());
}

/// Where libmdist's sources are.
fn sources() -> PathBuf {
    let crate_folder = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let places = [crate_folder.join("libmdist"), crate_folder.join("../../..")];
    let sources = places
        .iter()
        .find(|place| place.join("meson.build").exists() && place.join("lib/mdist.map").exists());
    let sources = sources.and_then(|place| fs::canonicalize(place).ok()).unwrap_or_else(|| {
        fail(&format!(
            "the sources of libmdist are not in {}. Take the crate as it was published, or set MDIST_BUNDLED=0 and \
             install libmdist",
            places[0].display()
        ))
    });
    for name in ["meson.build", "meson_options.txt", "include", "lib"] {
        println!("cargo:rerun-if-changed={}", sources.join(name).display());
    }
    sources
}

fn check_requirements() {
    let (mut missing, mut packages) = (Vec::new(), Vec::new());
    let pkg_config = pkg_config_program();
    let programs = PROGRAMS
        .iter()
        .copied()
        .chain([(pkg_config.as_str(), "pkg-config")]);
    for (program, package) in programs {
        if Command::new(program).arg("--version").output().is_err() {
            missing.push(program);
            packages.push(package);
        }
    }
    if !missing.contains(&pkg_config.as_str()) {
        for (name, known_as, package) in LIBRARIES {
            if !pkg_config_has(name) {
                missing.push(known_as);
                packages.push(package);
            }
        }
    }
    if !missing.is_empty() {
        fail(&format!(
            "building the bundled libmdist needs {}, not found here. Install it (Debian: apt-get install {}), \
             or install libmdist itself and set MDIST_BUNDLED=0",
            missing.join(" and "),
            packages.join(" ")
        ));
    }
}

fn pkg_config_has(name: &str) -> bool {
    let asked = Command::new(pkg_config_program())
        .args(["--exists", name])
        .status();
    asked.map(|status| status.success()).unwrap_or(false)
}

/// A project that has libmdist as a part, and a folder to build it in. Begins anew: Meson would keep
/// the compiler of last time.
fn prepare(project: &Path, build: &Path, sources: &Path) -> std::io::Result<()> {
    for folder in [project, build] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    fs::create_dir_all(project.join("subprojects"))?;
    fs::write(project.join("meson.build"), PROJECT)?;
    symlink(sources, project.join("subprojects/mdist"))
}

fn run(command: &mut Command) {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .unwrap_or_else(|error| fail(&format!("cannot run {name}: {error}")));
    if !output.status.success() {
        let all = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = all.lines().collect();
        let last = lines[lines.len().saturating_sub(40)..].join("\n");
        fail(&format!(
            "{last}\n{name} could not build the bundled libmdist ({}); what it says last is above. libmdist needs \
             gcc 12 or clang 14 with libstdc++, or later, and Meson 1.0.1 or later",
            output.status
        ));
    }
}

/// One of those that cargo sets.
fn variable(name: &str) -> String {
    set(name).unwrap_or_else(|| {
        fail(&format!(
            "{name} is not set; cargo sets it, and runs this program"
        ))
    })
}
