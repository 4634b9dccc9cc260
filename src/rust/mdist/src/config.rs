// SPDX-License-Identifier: Apache-2.0
//! Config: what kind of strategy, on which devices, with which limits, as dotted string keys.
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};

use mdist_sys as sys;

use crate::error::{call, make, text, Error, Result};
use crate::version::check_version;

/// Plain data, read when a strategy is created.
pub struct Config(NonNull<sys::mdist_config>);

// Safety: any thread, one at a time per config. That is not checked by the library, so Config is
// not Sync.
unsafe impl Send for Config {}

impl Config {
    /// Begins with the environment: the file named by MDIST_CONFIG, and every `MDIST_*` key over
    /// it. Keys set later override it.
    pub fn new() -> Result<Config> {
        let mut config = Config::empty()?;
        config.load_environment()?;
        Ok(config)
    }

    /// Every key at its default, the environment not looked at. A launcher's workers that use it
    /// train alone, or are refused.
    pub fn empty() -> Result<Config> {
        check_version()?;
        // Safety: an out parameter.
        let handle = make(|out, error| unsafe { sys::mdist_config_create(out, error) })?;
        Ok(Config(
            NonNull::new(handle).expect("a call that succeeds gives a config"),
        ))
    }

    pub(crate) fn raw(&self) -> *mut sys::mdist_config {
        self.0.as_ptr()
    }

    /// Sets one key: `config.set("devices", "cpu*2")?`. It is checked at once; an error leaves the
    /// config as it was.
    pub fn set(&mut self, key: &str, value: &str) -> Result<&mut Config> {
        let (key, value) = (
            c_string(key, "mdist_config_set")?,
            c_string(value, "mdist_config_set")?,
        );
        // Safety: our handle, exclusively.
        call(|error| unsafe {
            sys::mdist_config_set(self.raw(), key.as_ptr(), value.as_ptr(), error)
        })?;
        Ok(self)
    }

    /// The text of a key: its default where nobody set it.
    pub fn get(&self, key: &str) -> Result<String> {
        let key = c_string(key, "mdist_config_get")?;
        // Safety: our handle, and nobody else has it, since Config is not Sync.
        read_text(|text, capacity, needed, error| unsafe {
            sys::mdist_config_get(self.raw(), key.as_ptr(), text, capacity, needed, error)
        })
    }

    /// Loads a YAML file: all of it or, on an error (with line and column), nothing.
    pub fn load(&mut self, yaml: impl AsRef<Path>) -> Result<&mut Config> {
        let path = c_string(yaml.as_ref().as_os_str().as_bytes(), "mdist_config_load")?;
        // Safety: our handle, exclusively.
        call(|error| unsafe { sys::mdist_config_load(self.raw(), path.as_ptr(), error) })?;
        Ok(self)
    }

    /// Loads YAML from memory.
    pub fn load_text(&mut self, yaml: &str) -> Result<&mut Config> {
        // Safety: our handle, exclusively; the text needs no NUL.
        call(|error| unsafe {
            sys::mdist_config_load_text(self.raw(), yaml.as_ptr().cast(), yaml.len(), error)
        })?;
        Ok(self)
    }

    /// Loads the file named by MDIST_CONFIG, and every `MDIST_*` key over it, over what is there.
    pub fn load_environment(&mut self) -> Result<&mut Config> {
        // Safety: our handle, exclusively.
        call(|error| unsafe { sys::mdist_config_load_environment(self.raw(), error) })?;
        Ok(self)
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it.
        unsafe { sys::mdist_config_destroy(self.raw()) }
    }
}

/// Text for C, which must not have a NUL inside.
pub(crate) fn c_string(text: impl Into<Vec<u8>>, operation: &str) -> Result<CString> {
    CString::new(text).map_err(|error| {
        let sentence = format!(
            "a NUL at byte {} of {:?}; text ends at a NUL",
            error.nul_position(),
            error
        );
        Error::invalid(operation, sentence)
    })
}

/// Reads text of any length: asks for the size first.
pub(crate) fn read_text(
    read: impl Fn(
        *mut std::os::raw::c_char,
        usize,
        *mut usize,
        *mut *mut sys::mdist_error,
    ) -> sys::mdist_status,
) -> Result<String> {
    let mut needed = 0;
    call(|error| read(ptr::null_mut(), 0, &mut needed, error))?;
    let mut bytes = vec![0u8; needed.max(1)];
    call(|error| read(bytes.as_mut_ptr().cast(), bytes.len(), &mut needed, error))?;
    // Safety: the library ends it with a NUL.
    Ok(unsafe { text(bytes.as_ptr().cast()) })
}
