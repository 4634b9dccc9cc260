// SPDX-License-Identifier: Apache-2.0
//! Whether the library that the loader found is one that this crate was written for.
use mdist_sys as sys;

use crate::{Error, Result, Status};

/// Version of the library that is running: 10000 * major + 100 * minor + patch.
pub fn version() -> u32 {
    // Safety: no arguments.
    unsafe { sys::mdist_version() }
}

/// Fails if another version runs than can: libraries of one 0.N fit, from the crate's own on.
pub(crate) fn check_version() -> Result<()> {
    compare(version())
}

fn compare(found: u32) -> Result<()> {
    const OWN: u32 = sys::MDIST_VERSION;
    if found / 100 == OWN / 100 && found >= OWN {
        return Ok(());
    }
    let sentence = format!(
        "the loader found libmdist {}, but this program needs {} or a later {}; install that, and look at \
         LD_LIBRARY_PATH",
        text(found),
        text(OWN),
        text(OWN).rsplit_once('.').map_or("", |(minor, _)| minor),
    );
    Err(Error::new(
        Status::FailedPrecondition,
        "different_version",
        "mdist_version",
        sentence,
    ))
}

fn text(version: u32) -> String {
    format!(
        "{}.{}.{}",
        version / 10000,
        version / 100 % 100,
        version % 100
    )
}

#[cfg(test)]
mod tests {
    use super::{compare, sys};

    #[test]
    fn later_patches_fit_and_nothing_else() {
        assert!(compare(sys::MDIST_VERSION).is_ok());
        assert!(compare(sys::MDIST_VERSION + 1).is_ok());
        for other in [
            sys::MDIST_VERSION - 1,
            sys::MDIST_VERSION + 100,
            sys::MDIST_VERSION + 10000,
            0,
        ] {
            assert!(compare(other).is_err(), "{other}");
        }
    }

    #[test]
    fn an_error_names_both_versions() {
        let error = compare(70809).unwrap_err();
        assert_eq!(error.reason(), "different_version");
        let sentence = error.to_string();
        assert!(
            sentence.starts_with("the loader found libmdist 7.8.9, but"),
            "{sentence}"
        );
        assert!(
            sentence.contains(concat!(
                " needs ",
                env!("CARGO_PKG_VERSION"),
                " or a later "
            )),
            "{sentence}"
        );
    }
}
