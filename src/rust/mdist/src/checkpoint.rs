// SPDX-License-Identifier: Apache-2.0
//! Checkpoints: variables in files, and back.
use std::ffi::CString;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use mdist_sys as sys;

use crate::cause::Causes;
use crate::config::{c_string, read_text};
use crate::copies::{Lock, Locked};
use crate::error::{call, make, Error, Result, Status};
use crate::{Iter, Strategy, Variable};

/// Saves variables, places of iterators and texts in files, and restores them, with any number of workers and replicas.
/// The files are safetensors. All workers make the same calls, outside of steps.
pub struct Checkpoint {
    raw: NonNull<sys::mdist_checkpoint>,
    variables: Vec<Variable>,    // whose copies nobody may hold meanwhile
    ended: Vec<Arc<AtomicBool>>, // of its iterators, which go on once they are restored
    causes: Causes,              // of errors of their closures
}

// Safety: any thread, one at a time per strategy, which the library checks.
unsafe impl Send for Checkpoint {}
unsafe impl Sync for Checkpoint {}

impl Strategy {
    /// A checkpoint with nothing in it yet. The newest `keep` files stay in the folder; 0: all
    /// do.
    pub fn checkpoint(&self, folder: impl AsRef<Path>, keep: u32) -> Result<Checkpoint> {
        let folder = c_path(folder.as_ref(), "mdist_checkpoint_create")?;
        // Safety: our handle, and text that outlives the call.
        let raw = make(|out, error| unsafe {
            sys::mdist_checkpoint_create(self.raw(), folder.as_ptr(), keep, out, error)
        })?;
        Ok(Checkpoint {
            raw: NonNull::new(raw).expect("a call that succeeds gives a checkpoint"),
            variables: Vec::new(),
            ended: Vec::new(),
            causes: Causes::default(),
        })
    }
}

impl Checkpoint {
    /// Adds a variable under its own name.
    pub fn add(&mut self, variable: &Variable) -> Result<&mut Checkpoint> {
        self.add_as(&variable.name(), variable)
    }

    /// Adds a variable under another name in files.
    pub fn add_as(&mut self, name: &str, variable: &Variable) -> Result<&mut Checkpoint> {
        let name = c_string(name, "mdist_checkpoint_add")?;
        // Safety: handles of ours, and text that outlives the call.
        call(|error| unsafe {
            sys::mdist_checkpoint_add(self.raw(), name.as_ptr(), variable.raw(), error)
        })?;
        self.variables.push(variable.clone());
        Ok(self)
    }

    /// Adds an iterator by a name in files. Its place is saved and restored together with the variables: a restored
    /// program gets the elements that come next. Meanwhile no other thread may use it: that is an error with reason
    /// "busy".
    pub fn add_iterator(&mut self, name: &str, iterator: &Iter) -> Result<&mut Checkpoint> {
        let name = c_string(name, "mdist_checkpoint_add_iterator")?;
        // Safety: handles of ours, and text that outlives the call. The library keeps its own reference.
        call(|error| unsafe {
            sys::mdist_checkpoint_add_iterator(self.raw(), name.as_ptr(), iterator.raw(), error)
        })?;
        self.causes.look_in(iterator.causes());
        self.ended.push(iterator.ended().clone());
        Ok(self)
    }

    /// Sets a text that is saved along; the chief's is.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<()> {
        let operation = "mdist_checkpoint_set_text";
        let (key, text) = (c_string(key, operation)?, c_string(text, operation)?);
        // Safety: our handle, and texts that outlive the call.
        call(|error| unsafe {
            sys::mdist_checkpoint_set_text(self.raw(), key.as_ptr(), text.as_ptr(), error)
        })
    }

    /// A text that was set or restored, if there is one.
    pub fn text(&self, key: &str) -> Result<Option<String>> {
        let key = c_string(key, "mdist_checkpoint_text")?;
        // Safety: our handle, and text that outlives the call.
        found(read_text(|text, capacity, needed, error| unsafe {
            sys::mdist_checkpoint_text(self.raw(), key.as_ptr(), text, capacity, needed, error)
        }))
    }

    /// The keys of all texts, in their order.
    pub fn keys(&self) -> Result<Vec<String>> {
        // Safety, here and below: our handle.
        let count = unsafe { sys::mdist_checkpoint_text_count(self.raw()) };
        let key = |index| {
            read_text(|text, capacity, needed, error| unsafe {
                sys::mdist_checkpoint_text_key(self.raw(), index, text, capacity, needed, error)
            })
        };
        (0..count).map(key).collect()
    }

    /// Saves under a number, of a step or epoch, say. It is on the disk when this returns.
    pub fn save(&self, number: u64) -> Result<()> {
        let _locked = self.lock_all("saved", Lock::try_read)?;
        // Safety: our handle; no copy is written by anybody.
        let saved = call(|error| unsafe {
            sys::mdist_checkpoint_save(self.raw(), number, ptr::null(), error)
        });
        self.causes.attach(saved)
    }

    /// Gives variables, iterators and texts what was saved under a number, or what was saved last, and says
    /// which that was; `None` if there is none. File and variables must have the same names.
    pub fn restore(&mut self, number: Option<u64>) -> Result<Option<u64>> {
        self.restore_with(number, 0)
    }

    /// The same, but variables that the file lacks stay as they are, and what else is in it is
    /// passed over.
    pub fn restore_partial(&mut self, number: Option<u64>) -> Result<Option<u64>> {
        self.restore_with(number, sys::MDIST_RESTORE_PARTIAL)
    }

    fn restore_with(&mut self, number: Option<u64>, flags: u32) -> Result<Option<u64>> {
        let _locked = self.lock_all("restored", Lock::try_write)?;
        let options = sys::mdist_restore_options {
            struct_size: mem::size_of::<sys::mdist_restore_options>() as u32,
            flags,
            timeout_ns: 0,
        };
        let (number, mut restored) = (number.unwrap_or(sys::MDIST_LATEST), 0);
        // Safety: our handle; no copy is held by anybody.
        let done = call(|error| unsafe {
            sys::mdist_checkpoint_restore(self.raw(), number, &mut restored, &options, error)
        });
        let done = found(self.causes.attach(done).map(|()| restored));
        if let Ok(Some(_)) = done {
            for ended in &self.ended {
                ended.store(false, Ordering::Relaxed);
            }
        }
        done
    }

    /// Removes all checkpoints from the folder: the training is done, and the next one is to begin
    /// anew. All workers call it.
    pub fn clear(&mut self) -> Result<()> {
        // Safety: our handle.
        call(|error| unsafe { sys::mdist_checkpoint_clear(self.raw(), ptr::null(), error) })
    }

    fn raw(&self) -> *mut sys::mdist_checkpoint {
        self.raw.as_ptr()
    }

    fn lock_all<'v>(
        &'v self,
        what: &str,
        lock: fn(&'v Lock) -> Option<Locked<'v>>,
    ) -> Result<Vec<Vec<Locked<'v>>>> {
        self.variables
            .iter()
            .map(|variable| variable.lock_all(what, lock))
            .collect()
    }
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it. Files stay.
        unsafe { sys::mdist_checkpoint_destroy(self.raw()) }
    }
}

/// The number of the checkpoint in a folder that was saved last, if there is one.
pub fn latest_checkpoint(folder: impl AsRef<Path>) -> Result<Option<u64>> {
    let folder = c_path(folder.as_ref(), "mdist_checkpoint_latest")?;
    let mut number = 0;
    // Safety: text that outlives the call.
    let done =
        call(|error| unsafe { sys::mdist_checkpoint_latest(folder.as_ptr(), &mut number, error) });
    found(done.map(|()| number))
}

fn c_path(path: &Path, operation: &str) -> Result<CString> {
    c_string(path.as_os_str().as_bytes(), operation)
}

/// What is not there is no error here.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result.map(Some) {
        Err(error) if is_absent(&error) => Ok(None),
        result => result,
    }
}

fn is_absent(error: &Error) -> bool {
    error.status() == Status::NotFound
}
