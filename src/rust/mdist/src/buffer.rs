// SPDX-License-Identifier: Apache-2.0
//! Buffers: what collectives read and write. One slice, or several of mixed types in one fused
//! operation.
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::slice;

use mdist_sys as sys;

use crate::element::Element;
use crate::error::{call, Result};
use crate::tensor::{self, Tensor, TensorMut};

fn buffer_of(tensor: &sys::mdist_tensor) -> sys::mdist_buffer {
    sys::mdist_buffer {
        data: tensor.data,
        elements: tensor::elements_of(tensor) as u64,
        dtype: tensor.dtype,
        reserved: 0,
    }
}

pub(crate) fn raw_buffer<T: Element>(data: *const T, elements: usize) -> sys::mdist_buffer {
    sys::mdist_buffer {
        data: data as *mut _,
        elements: elements as u64,
        dtype: T::DTYPE.raw(),
        reserved: 0,
    }
}

/// A slice whose element type is forgotten: several of them go into one fused operation.
#[repr(transparent)] // so that arrays of these are arrays of mdist_buffer_t
pub struct Slice<'a> {
    #[allow(dead_code)] // read in arrays, by C
    raw: sys::mdist_buffer,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> Slice<'a> {
    pub fn new<T: Element>(elements: &'a [T]) -> Slice<'a> {
        Slice {
            raw: raw_buffer(elements.as_ptr(), elements.len()),
            memory: PhantomData,
        }
    }

    /// A single element.
    pub fn one<T: Element>(element: &'a T) -> Slice<'a> {
        Slice::new(slice::from_ref(element))
    }
}

/// All elements of a tensor, on the host or a GPU.
impl<'a> From<Tensor<'a>> for Slice<'a> {
    fn from(tensor: Tensor<'a>) -> Slice<'a> {
        Slice {
            raw: buffer_of(tensor.raw()),
            memory: PhantomData,
        }
    }
}

/// A slice to write whose element type is forgotten.
#[repr(transparent)]
pub struct SliceMut<'a> {
    #[allow(dead_code)] // read in arrays, by C
    raw: sys::mdist_buffer,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> SliceMut<'a> {
    pub fn new<T: Element>(elements: &'a mut [T]) -> SliceMut<'a> {
        SliceMut {
            raw: raw_buffer(elements.as_mut_ptr(), elements.len()),
            memory: PhantomData,
        }
    }

    /// A single element.
    pub fn one<T: Element>(element: &'a mut T) -> SliceMut<'a> {
        SliceMut::new(slice::from_mut(element))
    }
}

/// All elements of a tensor, on the host or a GPU.
impl<'a> From<&'a mut TensorMut<'_>> for SliceMut<'a> {
    fn from(tensor: &'a mut TensorMut<'_>) -> SliceMut<'a> {
        SliceMut {
            raw: buffer_of(tensor.raw()),
            memory: PhantomData,
        }
    }
}

impl SliceMut<'_> {
    /// A dense tensor of another library, whatever the order of its strides, for all_reduce,
    /// reduce_to_root and broadcast. All replicas must have the same order.
    ///
    /// # Safety
    /// `managed` is a DLManagedTensor (up to DLPack 0.8) that keeps its memory as long as this lives,
    /// and nobody else uses that memory.
    pub unsafe fn from_dlpack(managed: *const c_void) -> Result<Self> {
        Self::described(crate::value::plain_dlpack(managed))
    }

    /// The same for a DLManagedTensorVersioned (DLPack 1.x).
    ///
    /// # Safety
    /// As above.
    pub unsafe fn from_dlpack_versioned(managed: *const c_void) -> Result<Self> {
        Self::described(crate::value::versioned_dlpack(managed))
    }

    unsafe fn described(managed: sys::mdist_dlpack) -> Result<Self> {
        let mut raw = raw_buffer::<u8>(std::ptr::null(), 0);
        call(|error| sys::mdist_buffer_from_dlpack(&managed, &mut raw, error))?;
        let memory = PhantomData;
        Ok(SliceMut { raw, memory })
    }
}

mod sealed {
    use mdist_sys as sys;

    /// # Safety
    /// The buffers that `with` hands on must be readable as long as it runs.
    pub unsafe trait Readable {
        fn with<R>(&self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R;
    }

    /// # Safety
    /// As above, also writable, and nobody else's.
    pub unsafe trait Writable {
        fn with<R>(&mut self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R;
    }
}
pub(crate) use sealed::{Readable, Writable};

/// What a collective reads: an element, an array or slice of them, a tensor, or `[Slice]`: several
/// slices of mixed types.
pub trait Buffers: Readable {}
/// What a collective writes: an element, an array or slice of them, a tensor, or `[SliceMut]`:
/// several slices of mixed types.
pub trait BuffersMut: Writable {}

macro_rules! buffers {
    ($([$($generics:tt)*] $type:ty: $self:ident => $slice:expr;)*) => {
        $(
            // Safety: the borrow of self lasts as long as the call.
            unsafe impl<$($generics)*> Readable for $type {
                fn with<R>(&$self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R {
                    let elements: &[T] = $slice;
                    use_them(&[raw_buffer(elements.as_ptr(), elements.len())])
                }
            }
            impl<$($generics)*> Buffers for $type {}
        )*
    };
}
buffers! {
    [T: Element] T: self => slice::from_ref(self);
    [T: Element] [T]: self => self;
    [T: Element] Vec<T>: self => self;
    [T: Element, const N: usize] [T; N]: self => self;
}

macro_rules! buffers_mut {
    ($([$($generics:tt)*] $type:ty: $self:ident => $slice:expr;)*) => {
        $(
            // Safety: the exclusive borrow of self lasts as long as the call.
            unsafe impl<$($generics)*> Writable for $type {
                fn with<R>(&mut $self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R {
                    let elements: &mut [T] = $slice;
                    use_them(&[raw_buffer(elements.as_mut_ptr(), elements.len())])
                }
            }
            impl<$($generics)*> BuffersMut for $type {}
        )*
    };
}
buffers_mut! {
    [T: Element] T: self => slice::from_mut(self);
    [T: Element] [T]: self => self;
    [T: Element] Vec<T>: self => self;
    [T: Element, const N: usize] [T; N]: self => self;
}

macro_rules! fused {
    ($([$($generics:tt)*] $type:ty;)*) => {
        $(
            // Safety: each holds its own borrow; arrays of them are arrays of mdist_buffer_t.
            unsafe impl<$($generics)*> Readable for $type {
                fn with<R>(&self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R {
                    use_them(unsafe { slice::from_raw_parts(self.as_ptr().cast(), self.len()) })
                }
            }
            impl<$($generics)*> Buffers for $type {}
        )*
    };
}
fused! {
    [] [Slice<'_>];
    [const N: usize] [Slice<'_>; N];
}

macro_rules! fused_mut {
    ($([$($generics:tt)*] $type:ty;)*) => {
        $(
            // Safety: each holds its own exclusive borrow.
            unsafe impl<$($generics)*> Writable for $type {
                fn with<R>(&mut self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R {
                    use_them(unsafe { slice::from_raw_parts(self.as_ptr().cast(), self.len()) })
                }
            }
            impl<$($generics)*> BuffersMut for $type {}
        )*
    };
}
fused_mut! {
    [] [SliceMut<'_>];
    [const N: usize] [SliceMut<'_>; N];
}

// Safety: it is readable as long as it is borrowed; memory of a GPU stays until that is done.
unsafe impl Readable for Tensor<'_> {
    fn with<R>(&self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R {
        use_them(&[buffer_of(self.raw())])
    }
}
impl Buffers for Tensor<'_> {}

// Safety: likewise, and it is nobody else's.
unsafe impl Writable for TensorMut<'_> {
    fn with<R>(&mut self, use_them: impl FnOnce(&[sys::mdist_buffer]) -> R) -> R {
        use_them(&[buffer_of(self.raw())])
    }
}
impl BuffersMut for TensorMut<'_> {}
