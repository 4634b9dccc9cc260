// SPDX-License-Identifier: Apache-2.0
//! Arrays: tensors that own their memory.
use std::fmt;
use std::mem::ManuallyDrop;
use std::os::raw::c_void;
use std::ptr;

use mdist_sys as sys;

use crate::element::{Element, Sealed};
use crate::error::Result;
use crate::replica::Replica;
use crate::tensor::{self, Device, Tensor, TensorMut};

/// A tensor with memory of its own, a vector's: what merges give back, and what datasets and values
/// can be made of without copying.
pub struct Array {
    raw: sys::mdist_tensor,
    capacity: usize,
    len: usize,
    free: unsafe fn(*mut c_void, usize, usize),
}

// Safety: a Vec of plain numbers.
unsafe impl Send for Array {}
unsafe impl Sync for Array {}

impl Array {
    /// Takes the elements over, row by row in this shape; a scalar's is `&[]`.
    pub fn new<T: Element>(elements: Vec<T>, shape: &[usize]) -> Result<Array> {
        let mut elements = ManuallyDrop::new(elements);
        let (data, len, capacity) = (elements.as_mut_ptr(), elements.len(), elements.capacity());
        match tensor::describe(T::DTYPE, data, len, shape) {
            Ok(raw) => Ok(Array {
                raw,
                capacity,
                len,
                free: free::<T>,
            }),
            Err(error) => {
                drop(ManuallyDrop::into_inner(elements));
                Err(error)
            }
        }
    }

    /// A copy of a tensor's elements, behind what the replica's stream has been given. The
    /// memory is words, whose alignment serves all types.
    pub(crate) fn copy_of(tensor: Tensor<'_>, replica: &Replica<'_>) -> Result<Array> {
        // Safety: known for every number.
        let bytes = tensor.elements() * unsafe { sys::mdist_dtype_size(tensor.raw().dtype) };
        let mut words = ManuallyDrop::new(vec![0u64; (bytes + 7) / 8]);
        let array = Array {
            raw: sys::mdist_tensor {
                data: words.as_mut_ptr().cast(),
                device_kind: sys::MDIST_DEVICE_CPU,
                device_index: 0,
                ..*tensor.raw()
            },
            capacity: words.capacity(),
            len: words.len(),
            free: free::<u64>,
        };
        if tensor.device() == Device::Cpu {
            let (from, to) = (tensor.raw().data.cast::<u8>(), array.raw.data.cast::<u8>());
            if bytes != 0 {
                // Safety: readable as long as the tensor is, and new memory.
                unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
            }
        } else {
            // Safety: new memory, described as it is.
            replica.copy_tensor(unsafe { TensorMut::from_raw(array.raw) }, tensor)?;
        }
        Ok(array)
    }

    /// The whole array, to read.
    pub fn tensor(&self) -> Tensor<'_> {
        // Safety: the memory is ours, and shared as long as self is.
        unsafe { Tensor::from_raw(self.raw) }
    }
}

/// The whole array.
impl<'a> From<&'a Array> for Tensor<'a> {
    fn from(array: &'a Array) -> Tensor<'a> {
        array.tensor()
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // Safety: these are the parts of the vector that `new` took apart, of that type.
        unsafe { (self.free)(self.raw.data, self.len, self.capacity) }
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tensor().fmt(out)
    }
}

unsafe fn free<T: Sealed>(data: *mut c_void, len: usize, capacity: usize) {
    drop(Vec::from_raw_parts(data.cast::<T>(), len, capacity));
}
