// SPDX-License-Identifier: Apache-2.0
//! Values: what goes into a run and comes out of it.
use std::fmt;
use std::os::raw::c_void;
use std::ptr::NonNull;

use mdist_sys as sys;

use crate::array::Array;
use crate::error::{call, make, Error, Result};
use crate::tensor::{raw_tensor, Tensor};
use crate::Dtype;

/// What a [`Value`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueKind {
    /// One tensor.
    Plain,
    /// One for each local replica, all equal.
    Mirrored,
    /// One for each local replica.
    PerReplica,
    /// None itself, but leaves: see [`Value::structure`].
    Structure,
}

/// Owned tensors that never change: one, or one for each local replica. It fits every strategy with
/// as many.
#[repr(transparent)] // so that arrays of mdist_value_t * are arrays of these
pub struct Value(NonNull<sys::mdist_value>);

// Safety: a value never changes; "whoever holds the handle may read it from any thread". Destroying
// it: any thread. What it is made of (arrays here) is Send, so the last reference may go on any
// thread.
unsafe impl Send for Value {}
unsafe impl Sync for Value {}

pub(crate) fn plain_dlpack(managed: *const c_void) -> sys::mdist_dlpack {
    sys::mdist_dlpack {
        plain: managed as *mut _,
        versioned: std::ptr::null_mut(),
    }
}

pub(crate) fn versioned_dlpack(managed: *const c_void) -> sys::mdist_dlpack {
    sys::mdist_dlpack {
        plain: std::ptr::null_mut(),
        versioned: managed as *mut _,
    }
}

impl Value {
    /// A plain value with a copy of the tensor.
    pub fn new<'a>(tensor: impl Into<Tensor<'a>>) -> Result<Value> {
        let tensor = tensor.into();
        // Safety: the tensor is readable.
        make(|out, error| unsafe { sys::mdist_value_create(tensor.raw(), out, error) })
            .map(Value::own)
    }

    /// A plain value of zeros.
    pub fn zeros(dtype: Dtype, shape: &[usize]) -> Result<Value> {
        let tensor = raw_tensor::<u8>(dtype, std::ptr::null_mut(), shape);
        // Safety: without data it is zeros; the library checks rank and shape.
        make(|out, error| unsafe { sys::mdist_value_create(&tensor, out, error) }).map(Value::own)
    }

    /// A plain value around a tensor of another library, which is kept, not copied.
    ///
    /// # Safety
    /// `managed` is a DLManagedTensor, whose memory does not change as long as anybody may read the
    /// value, and whose deleter may be called on any thread. On success it belongs to the library.
    pub unsafe fn from_dlpack(managed: *mut c_void) -> Result<Value> {
        Value::around(plain_dlpack(managed))
    }

    /// The same for a DLManagedTensorVersioned.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn from_dlpack_versioned(managed: *mut c_void) -> Result<Value> {
        Value::around(versioned_dlpack(managed))
    }

    unsafe fn around(managed: sys::mdist_dlpack) -> Result<Value> {
        make(|out, error| sys::mdist_value_from_dlpack(&managed, out, error)).map(Value::own)
    }

    /// Exports a tensor as a DLManagedTensor, for another library to read. Whoever takes it calls its
    /// deleter, which may be after the value's end.
    pub fn to_dlpack(&self, index: usize) -> Result<*mut c_void> {
        self.exported(index, 0).map(|managed| managed.plain.cast())
    }

    /// The same as a DLManagedTensorVersioned.
    pub fn to_dlpack_versioned(&self, index: usize) -> Result<*mut c_void> {
        self.exported(index, 1)
            .map(|managed| managed.versioned.cast())
    }

    fn exported(&self, index: usize, max_major: u32) -> Result<sys::mdist_dlpack> {
        let mut out = plain_dlpack(std::ptr::null());
        // Safety: our handle.
        call(|error| unsafe {
            sys::mdist_value_to_dlpack(self.raw(), index, max_major, &mut out, error)
        })?;
        Ok(out)
    }

    /// Takes over a handle that is ours to destroy.
    pub(crate) fn own(handle: *mut sys::mdist_value) -> Value {
        Value::own_if_any(handle).expect("a call that succeeds gives a value")
    }

    pub(crate) fn own_if_any(handle: *mut sys::mdist_value) -> Option<Value> {
        NonNull::new(handle).map(Value)
    }

    pub(crate) fn raw(&self) -> *mut sys::mdist_value {
        self.0.as_ptr()
    }

    /// Gives the handle away.
    pub(crate) fn into_raw(self) -> *mut sys::mdist_value {
        std::mem::ManuallyDrop::new(self).raw()
    }

    /// What it holds. A kind that this crate does not know is an error.
    pub fn kind(&self) -> Result<ValueKind> {
        // Safety: our handle.
        match unsafe { sys::mdist_value_kind(self.raw()) } {
            sys::MDIST_VALUE_MIRRORED => Ok(ValueKind::Mirrored),
            sys::MDIST_VALUE_PER_REPLICA => Ok(ValueKind::PerReplica),
            sys::MDIST_VALUE_STRUCTURE => Ok(ValueKind::Structure),
            sys::MDIST_VALUE_PLAIN => Ok(ValueKind::Plain),
            other => Err(Error::unknown("mdist_value_kind", "a kind of value", other)),
        }
    }

    /// How many tensors it holds.
    pub fn count(&self) -> usize {
        // Safety: our handle.
        unsafe { sys::mdist_value_count(self.raw()) }
    }

    /// Tensor `index`: that of local replica `index`, or of a plain value the one, 0.
    pub fn tensor(&self, index: usize) -> Result<Tensor<'_>> {
        let mut raw = raw_tensor::<u8>(
            Dtype::from_raw(sys::MDIST_DTYPE_NONE),
            std::ptr::null_mut(),
            &[],
        );
        // Safety: our handle; the memory is borrowed until the value is destroyed, and never
        // changes.
        call(|error| unsafe { sys::mdist_value_tensor(self.raw(), index, &mut raw, error) })?;
        Ok(unsafe { Tensor::from_raw(raw) })
    }
}

/// A plain value around the array, which is not copied.
impl TryFrom<Array> for Value {
    type Error = crate::Error;

    fn try_from(array: Array) -> Result<Value> {
        let raw = *array.tensor().raw();
        let kept = Box::into_raw(Box::new(array)).cast();
        // Safety: the memory stays where it is and as it is until free_array; which is called
        // exactly once, whatever happens.
        make(|out, error| unsafe {
            sys::mdist_value_wrap(&raw, kept, Some(free_array), out, error)
        })
        .map(Value::own)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it.
        unsafe { sys::mdist_value_destroy(self.raw()) }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensors: Vec<_> = (0..self.count())
            .filter_map(|index| self.tensor(index).ok())
            .collect();
        match self.kind() {
            Ok(kind) => write!(out, "{kind:?}{tensors:?}"),
            Err(_) => write!(out, "Unknown{tensors:?}"),
        }
    }
}

/// Frees memory and nothing else, as an mdist_free_fn must.
unsafe extern "C" fn free_array(array: *mut c_void) {
    drop(Box::from_raw(array.cast::<Array>()));
}
