// SPDX-License-Identifier: Apache-2.0
//! Memory from the library, for buffers of started collectives, and later for what workers of one
//! host share.
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::os::raw::c_void;
use std::ptr::{self, NonNull};
use std::slice;

use mdist_sys as sys;

use crate::element::Element;
use crate::error::{make, Error, Result, Status};
use crate::Strategy;

/// Elements in memory of the library: 64-byte aligned, zeros at first, where it is for as long as
/// it lives.
pub struct Memory<T: Element> {
    data: NonNull<T>,
    len: usize,
}

// Safety: it owns its elements, as a Vec does; any thread may free them.
unsafe impl<T: Element> Send for Memory<T> {}
unsafe impl<T: Element> Sync for Memory<T> {}

impl<T: Element> Memory<T> {
    /// Memory of the host.
    pub fn new(len: usize) -> Result<Memory<T>> {
        Memory::allocate(ptr::null_mut(), 0, len)
    }

    /// Memory on the device of a local replica, a CPU: what is elsewhere is no slice. It may
    /// outlive the strategy.
    pub fn of_replica(strategy: &Strategy, local_replica: u32, len: usize) -> Result<Memory<T>> {
        let device = strategy.device(local_replica)?;
        if !device.starts_with("cpu") {
            let sentence = format!(
                "local replica {local_replica} is on {device}; slices are memory of the host, and \
                 copy_tensor reaches variables and values there"
            );
            return Err(Error::new(Status::Unsupported, "", "mdist_alloc", sentence));
        }
        Memory::allocate(strategy.raw(), local_replica, len)
    }

    /// Page-locked memory of the host, which GPUs copy from and to at full speed; ordinary memory
    /// where there are none.
    pub fn pinned(len: usize) -> Result<Memory<T>> {
        // Safety: no handles.
        Memory::from_function(len, |bytes, out, error| unsafe {
            sys::mdist_alloc_pinned(bytes, out, error)
        })
    }

    fn allocate(
        strategy: *mut sys::mdist_strategy,
        local_replica: u32,
        len: usize,
    ) -> Result<Memory<T>> {
        // Safety: a handle of ours, or NULL.
        Memory::from_function(len, |bytes, out, error| unsafe {
            sys::mdist_alloc(strategy, local_replica, bytes, out, error)
        })
    }

    fn from_function(
        len: usize,
        allocate: impl FnOnce(usize, *mut *mut c_void, *mut *mut sys::mdist_error) -> sys::mdist_status,
    ) -> Result<Memory<T>> {
        let bytes = len
            .checked_mul(std::mem::size_of::<T>())
            .filter(|&bytes| bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or_else(|| {
            Error::invalid(
                "mdist_alloc",
                format!("{len} elements of {} are more than any memory", T::DTYPE),
            )
        })?;
        let data = make(|out, error| allocate(bytes, out, error))?;
        let data = NonNull::new(data.cast()).expect("a call that succeeds gives memory");
        Ok(Memory { data, len })
    }
}

impl<T: Element> Deref for Memory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // Safety: ours, initialised with zeros, aligned for every type.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: Element> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // Safety: ours, initialised with zeros, aligned for every type.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl<T: Element> Drop for Memory<T> {
    fn drop(&mut self) {
        // Safety: from the library, and this is the end of it.
        unsafe { sys::mdist_free(self.data.as_ptr().cast()) }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Memory<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}
