// SPDX-License-Identifier: Apache-2.0
//! Arrays: tensors that own their memory.
use std::fmt;
use std::mem::ManuallyDrop;
use std::os::raw::c_void;

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

    /// A copy of a tensor's elements, behind what the replica's stream has been given.
    pub(crate) fn copy_of(tensor: Tensor<'_>, replica: &Replica<'_>) -> Result<Array> {
        match tensor.raw().dtype {
            sys::MDIST_FLOAT32 => copy::<f32>(tensor, replica),
            sys::MDIST_FLOAT64 => copy::<f64>(tensor, replica),
            sys::MDIST_FLOAT16 => copy::<crate::F16>(tensor, replica),
            sys::MDIST_BFLOAT16 => copy::<crate::Bf16>(tensor, replica),
            sys::MDIST_INT8 => copy::<i8>(tensor, replica),
            sys::MDIST_UINT8 => copy::<u8>(tensor, replica),
            sys::MDIST_INT32 => copy::<i32>(tensor, replica),
            sys::MDIST_UINT32 => copy::<u32>(tensor, replica),
            sys::MDIST_INT64 => copy::<i64>(tensor, replica),
            _ => copy::<u64>(tensor, replica),
        }
    }

    /// The whole array, to read.
    pub fn tensor(&self) -> Tensor<'_> {
        // Safety: the memory is ours, and shared as long as self is.
        unsafe { Tensor::from_raw(self.raw) }
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

fn copy<T: Element>(tensor: Tensor<'_>, replica: &Replica<'_>) -> Result<Array> {
    if tensor.device() == Device::Cpu {
        return Array::new(tensor.as_slice::<T>()?.to_vec(), tensor.shape());
    }
    let mut elements = vec![T::default(); tensor.elements()];
    replica.copy_tensor(TensorMut::new(&mut elements, tensor.shape())?, tensor)?;
    Array::new(elements, tensor.shape())
}

unsafe fn free<T: Sealed>(data: *mut c_void, len: usize, capacity: usize) {
    drop(Vec::from_raw_parts(data.cast::<T>(), len, capacity));
}
