// SPDX-License-Identifier: Apache-2.0
//! Tensors: borrowed, dense, typed memory with a shape.
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::slice;

use mdist_sys as sys;

use crate::element::{Dtype, Element};
use crate::error::{call, Error, Result};

// Shapes are `u64` in C and `usize` here, read in place.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("libmdist needs a 64-bit machine");

/// Where a tensor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    Cpu,
    Gpu(u32),
}

impl fmt::Display for Device {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => out.write_str("cpu:0"),
            Device::Gpu(index) => write!(out, "gpu:{index}"),
        }
    }
}

/// A dense array of up to 8 dimensions to read: it borrows memory that nobody changes for `'a`.
#[derive(Clone, Copy)]
#[repr(transparent)] // so that arrays of mdist_tensor_t are arrays of these
pub struct Tensor<'a> {
    raw: sys::mdist_tensor,
    memory: PhantomData<&'a [u8]>,
}

// Safety: as a shared slice, which is all that one can make of it.
unsafe impl Send for Tensor<'_> {}
unsafe impl Sync for Tensor<'_> {}

impl<'a> Tensor<'a> {
    /// A view of `elements`, row by row in this shape; a scalar's is `&[]`.
    pub fn new<T: Element>(elements: &'a [T], shape: &[usize]) -> Result<Tensor<'a>> {
        let raw = describe(T::DTYPE, elements.as_ptr() as *mut T, elements.len(), shape)?;
        Ok(Tensor {
            raw,
            memory: PhantomData,
        })
    }

    /// # Safety
    /// What `raw` describes must be readable and unchanging for `'a`.
    pub(crate) unsafe fn from_raw(raw: sys::mdist_tensor) -> Tensor<'a> {
        Tensor {
            raw,
            memory: PhantomData,
        }
    }

    /// # Safety
    /// As [`Tensor::from_raw`], for `count` of them, and for the array itself.
    pub(crate) unsafe fn slice_from_raw(
        raw: *const sys::mdist_tensor,
        count: usize,
    ) -> &'a [Tensor<'a>] {
        if count == 0 {
            return &[];
        }
        slice::from_raw_parts(raw.cast(), count)
    }

    /// A view of memory on the host or a GPU, such as another library allocates there.
    ///
    /// # Safety
    /// At `data` lie as many elements as the shape says, which nobody changes for `'a`, and on a
    /// GPU until the streams are done that were given work about them.
    pub unsafe fn from_raw_parts<T: Element>(
        data: *const T,
        shape: &[usize],
    ) -> Result<Tensor<'a>> {
        placed(T::DTYPE, data as *mut T, shape).map(|raw| Tensor::from_raw(raw))
    }

    pub(crate) fn raw(&self) -> &sys::mdist_tensor {
        &self.raw
    }

    pub fn device(&self) -> Device {
        device_of(&self.raw)
    }

    /// Address of the elements, on the device where they lie.
    pub fn as_ptr(&self) -> *const c_void {
        self.raw.data
    }

    pub fn dtype(&self) -> Dtype {
        Dtype::from_raw(self.raw.dtype)
    }

    /// Its dimensions; none for a scalar.
    pub fn shape(&self) -> &[usize] {
        shape_of(&self.raw)
    }

    /// Product of the dimensions; 1 for a scalar.
    pub fn elements(&self) -> usize {
        elements_of(&self.raw)
    }

    /// The elements, row by row. The type must be the tensor's, and its memory the host's.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        let data = checked_data::<T>(&self.raw)?;
        // Safety: the type fits, the memory is readable for 'a, says from_raw.
        Ok(unsafe { slice::from_raw_parts(data, self.elements()) })
    }
}

/// A vector of all its elements.
impl<'a, T: Element> From<&'a [T]> for Tensor<'a> {
    fn from(elements: &'a [T]) -> Tensor<'a> {
        let raw = raw_tensor(T::DTYPE, elements.as_ptr() as *mut T, &[elements.len()]);
        Tensor {
            raw,
            memory: PhantomData,
        }
    }
}

/// A scalar.
impl<'a, T: Element> From<&'a T> for Tensor<'a> {
    fn from(element: &'a T) -> Tensor<'a> {
        let raw = raw_tensor(T::DTYPE, element as *const T as *mut T, &[]);
        Tensor {
            raw,
            memory: PhantomData,
        }
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{:?}", self.dtype(), self.shape())
    }
}

/// A tensor to fill: what a function of [`Dataset::map`](crate::Dataset::map) gets for its outputs,
/// and where copies go.
pub struct TensorMut<'a> {
    raw: sys::mdist_tensor,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> TensorMut<'a> {
    /// A view of `elements`, row by row in this shape; a scalar's is `&[]`.
    pub fn new<T: Element>(elements: &'a mut [T], shape: &[usize]) -> Result<TensorMut<'a>> {
        let raw = describe(T::DTYPE, elements.as_mut_ptr(), elements.len(), shape)?;
        // Safety: borrowed for 'a.
        Ok(unsafe { TensorMut::from_raw(raw) })
    }

    /// A view of memory on the host or a GPU, such as another library allocates there.
    ///
    /// # Safety
    /// At `data` lie as many elements as the shape says, which are initialised and nobody else's
    /// for `'a`, and on a GPU until the streams are done that were given work about them.
    pub unsafe fn from_raw_parts<T: Element>(
        data: *mut T,
        shape: &[usize],
    ) -> Result<TensorMut<'a>> {
        placed(T::DTYPE, data, shape).map(|raw| TensorMut::from_raw(raw))
    }

    /// # Safety
    /// What `raw` describes must be initialised, and nobody else's for as long as this lives.
    pub(crate) unsafe fn from_raw(raw: sys::mdist_tensor) -> Self {
        TensorMut {
            raw,
            memory: PhantomData,
        }
    }

    pub(crate) fn raw(&self) -> &sys::mdist_tensor {
        &self.raw
    }

    pub fn device(&self) -> Device {
        device_of(&self.raw)
    }

    /// Address of the elements, on the device where they lie.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.raw.data
    }

    pub fn dtype(&self) -> Dtype {
        Dtype::from_raw(self.raw.dtype)
    }

    /// Its dimensions; none for a scalar.
    pub fn shape(&self) -> &[usize] {
        shape_of(&self.raw)
    }

    /// The elements, row by row. The type must be the tensor's, and its memory the host's.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        let data = checked_data::<T>(&self.raw)?;
        // Safety: the type fits, and the memory is ours alone, says from_raw.
        Ok(unsafe { slice::from_raw_parts_mut(data, elements_of(&self.raw)) })
    }
}

/// A vector of all its elements.
impl<'a, T: Element> From<&'a mut [T]> for TensorMut<'a> {
    fn from(elements: &'a mut [T]) -> TensorMut<'a> {
        let raw = raw_tensor(T::DTYPE, elements.as_mut_ptr(), &[elements.len()]);
        // Safety: borrowed for 'a.
        unsafe { TensorMut::from_raw(raw) }
    }
}

/// The same tensor, for a while.
impl<'a> From<&'a mut TensorMut<'_>> for TensorMut<'a> {
    fn from(tensor: &'a mut TensorMut<'_>) -> TensorMut<'a> {
        // Safety: borrowed for 'a.
        unsafe { TensorMut::from_raw(tensor.raw) }
    }
}

fn device_of(raw: &sys::mdist_tensor) -> Device {
    match raw.device_kind {
        sys::MDIST_DEVICE_CPU => Device::Cpu,
        sys::MDIST_DEVICE_GPU => Device::Gpu(raw.device_index as u32),
        other => panic!("a tensor on a device of kind {other}, which this crate does not know"),
    }
}

pub(crate) fn shape_of(raw: &sys::mdist_tensor) -> &[usize] {
    let rank = usize::try_from(raw.rank).unwrap_or(0);
    // Safety: u64 and usize have one layout, see above.
    unsafe { slice::from_raw_parts(raw.shape[..rank].as_ptr().cast(), rank) }
}

pub(crate) fn elements_of(raw: &sys::mdist_tensor) -> usize {
    shape_of(raw).iter().product()
}

/// Address of the elements as `T`s, good for a slice: of this type, on this host, aligned, never
/// NULL.
pub(crate) fn checked_data<T: Element>(raw: &sys::mdist_tensor) -> Result<*mut T> {
    let refuse = |sentence: String| Err(Error::invalid("as_slice", sentence));
    let dtype = Dtype::from_raw(raw.dtype);
    if dtype != T::DTYPE {
        return refuse(format!("the tensor is of {dtype}, not of {}", T::DTYPE));
    }
    let device = device_of(raw);
    if device != Device::Cpu {
        return refuse(format!(
            "the tensor lies on {device}, and a slice is memory of the host; copy_tensor, in a step \
             Replica::copy_tensor, brings it there"
        ));
    }
    if elements_of(raw) == 0 {
        return Ok(std::ptr::NonNull::dangling().as_ptr());
    }
    if raw.data.is_null() {
        return refuse(
            "the tensor has no memory; lend gradients again after a regroup".to_string(),
        );
    }
    if raw.data as usize % std::mem::align_of::<T>() != 0 {
        return refuse(format!(
            "the tensor's address {:p} is not aligned for {dtype}",
            raw.data
        ));
    }
    Ok(raw.data.cast())
}

/// A description of `len` elements at `data` in this shape; a scalar's is `&[]`.
pub(crate) fn describe<T>(
    dtype: Dtype,
    data: *mut T,
    len: usize,
    shape: &[usize],
) -> Result<sys::mdist_tensor> {
    let mut raw = placed(dtype, data, shape)?;
    raw.data = data.cast(); // of no elements, too
    if elements_of(&raw) != len {
        let sentence = format!("{len} elements do not fill the shape {shape:?}");
        return Err(Error::invalid("mdist_tensor_describe", sentence));
    }
    Ok(raw)
}

/// A description of what lies at `data`, and where that is.
fn placed<T>(dtype: Dtype, data: *mut T, shape: &[usize]) -> Result<sys::mdist_tensor> {
    let dimensions: Vec<u64> = shape.iter().map(|&dimension| dimension as u64).collect();
    let mut raw = raw_tensor(dtype, data, &[]);
    // Safety: plain structs and counts; the library checks what they say.
    call(|error| unsafe {
        sys::mdist_tensor_describe(
            data.cast(),
            dtype.raw(),
            dimensions.as_ptr(),
            shape.len(),
            &mut raw,
            error,
        )
    })?;
    Ok(raw)
}

/// A place for a description.
pub(crate) fn no_tensor() -> sys::mdist_tensor {
    let none = Dtype::from_raw(sys::MDIST_DTYPE_NONE);
    raw_tensor::<u8>(none, std::ptr::null_mut(), &[])
}

/// The same without checks: for shapes that are known to fit, and for those that only the library
/// can judge.
pub(crate) fn raw_tensor<T>(dtype: Dtype, data: *mut T, shape: &[usize]) -> sys::mdist_tensor {
    let mut dimensions = [0; 8];
    for (to, from) in dimensions.iter_mut().zip(shape) {
        *to = *from as u64;
    }
    sys::mdist_tensor {
        data: data.cast(),
        dtype: dtype.raw(),
        rank: shape.len() as i32,
        device_kind: sys::MDIST_DEVICE_CPU,
        device_index: 0,
        shape: dimensions,
    }
}
