// SPDX-License-Identifier: Apache-2.0
//! Who may touch a variable's copies: each has a lock that is only ever tried.
//!
//! A copy's memory is reached from its replica's step, from other threads, and by the library in
//! assignments, reads and updates. No lifetime can say that these do not meet (a step may hold its
//! copy across a merge in which another replica assigns), so it is checked: many readers or one
//! writer, else an error. Nobody waits.
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::element::Element;

const WRITER: u32 = u32::MAX;

/// Number of readers, or WRITER.
#[derive(Default)]
pub(crate) struct Lock(AtomicU32);

/// The right to read or to write, until it is dropped. One that is leaked keeps the copy locked,
/// which is no danger.
pub(crate) struct Locked<'v> {
    lock: &'v Lock,
    writes: bool,
}

impl Lock {
    pub fn try_read(&self) -> Option<Locked<'_>> {
        let one_more = |readers: u32| readers.checked_add(1).filter(|&readers| readers != WRITER);
        self.0
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more)
            .ok()?;
        Some(Locked {
            lock: self,
            writes: false,
        })
    }

    pub fn try_write(&self) -> Option<Locked<'_>> {
        self.0
            .compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        Some(Locked {
            lock: self,
            writes: true,
        })
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.writes {
            self.lock.0.store(0, Ordering::Release);
        } else {
            self.lock.0.fetch_sub(1, Ordering::Release);
        }
    }
}

/// One copy of a variable, to read.
// A pointer, not a slice: a slice must stay valid to the end of the function it was passed to,
// which drops the lock.
pub struct CopyRef<'v, T: Element> {
    data: NonNull<T>,
    len: usize,
    _locked: Locked<'v>,
}

/// One copy of a variable, to read and write. Keeping mirrored copies equal is up to you.
pub struct CopyMut<'v, T: Element> {
    data: NonNull<T>,
    len: usize,
    _locked: Locked<'v>,
}

impl<'v, T: Element> CopyRef<'v, T> {
    /// # Safety
    /// `locked` must be the right to read these elements.
    pub(crate) unsafe fn new(data: NonNull<T>, len: usize, locked: Locked<'v>) -> Self {
        CopyRef {
            data,
            len,
            _locked: locked,
        }
    }
}

impl<'v, T: Element> CopyMut<'v, T> {
    /// # Safety
    /// `locked` must be the right to write these elements.
    pub(crate) unsafe fn new(data: NonNull<T>, len: usize, locked: Locked<'v>) -> Self {
        CopyMut {
            data,
            len,
            _locked: locked,
        }
    }
}

impl<T: Element> Deref for CopyRef<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // Safety: nobody writes while we have the lock.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: Element> Deref for CopyMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // Safety: nobody else has it while we have the lock.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: Element> DerefMut for CopyMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // Safety: nobody else has it while we have the lock.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}
