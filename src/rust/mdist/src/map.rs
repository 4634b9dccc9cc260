// SPDX-License-Identifier: Apache-2.0
//! Maps: a closure that computes one element from another.
use std::os::raw::c_void;
use std::ptr;
use std::sync::Arc;

use mdist_sys as sys;

use crate::cause::{catch, drop_quietly, Causes};
use crate::element::Element;
use crate::error::{Error, Result, StepResult};
use crate::tensor::{elements_of, raw_tensor, Tensor, TensorMut};
use crate::{Dataset, Dtype};

/// In the shape of an [`Output`]: as many as the first dimension of the input's first component.
pub const UNKNOWN_LENGTH: usize = sys::MDIST_UNKNOWN_LENGTH as usize;

/// Type and shape of one component that a map makes.
#[derive(Clone, Debug)]
pub struct Output {
    dtype: Dtype,
    shape: Vec<usize>,
}

impl Output {
    /// The first dimension may be [`UNKNOWN_LENGTH`].
    pub fn new<T: Element>(shape: &[usize]) -> Output {
        Output {
            dtype: T::DTYPE,
            shape: shape.to_vec(),
        }
    }

    fn raw(&self) -> Result<sys::mdist_tensor> {
        if self.shape.len() > sys::MDIST_MAX_RANK as usize {
            let sentence = format!(
                "{:?} has {} dimensions; 8 are the most",
                self.shape,
                self.shape.len()
            );
            return Err(Error::invalid("mdist_dataset_map", sentence));
        }
        Ok(raw_tensor::<u8>(self.dtype, ptr::null_mut(), &self.shape))
    }
}

pub(crate) fn raw_outputs(outputs: &[Output]) -> Result<Vec<sys::mdist_tensor>> {
    outputs.iter().map(Output::raw).collect()
}

struct Mapping<F> {
    map: F,
    causes: Arc<Causes>,
}

impl Dataset {
    /// Applies `map` to every element: it reads the inputs' tensors and fills the outputs', which
    /// hold zeros.
    ///
    /// It runs on the thread that asks for the element, or on the prefetching thread if a prefetch
    /// follows; several iterators may call it at the same time. An error or a panic ends the
    /// iteration with an error that carries it.
    pub fn map<F>(&self, outputs: &[Output], map: F) -> Result<Dataset>
    where
        F: Fn(&[Tensor<'_>], &mut [TensorMut<'_>]) -> StepResult + Send + Sync + 'static,
    {
        let outputs = raw_outputs(outputs)?;
        let mapping = Box::new(Mapping {
            map,
            causes: self.causes().clone(),
        });
        let kept = Box::into_raw(mapping).cast();
        self.derive(|from, out, error| unsafe {
            // Safety: the closure may be called from any thread until free_mapping, which is called
            // exactly once, whatever happens.
            sys::mdist_dataset_map(
                from,
                Some(map_of::<F>),
                kept,
                Some(free_mapping::<F>),
                outputs.as_ptr(),
                outputs.len(),
                out,
                ptr::null(),
                error,
            )
        })
    }
}

/// An mdist_map_fn around the closure in `user_data`.
unsafe extern "C" fn map_of<F>(
    inputs: *const sys::mdist_tensor,
    input_count: usize,
    outputs: *const sys::mdist_tensor,
    output_count: usize,
    user_data: *mut c_void,
) -> i32
where
    F: Fn(&[Tensor<'_>], &mut [TensorMut<'_>]) -> StepResult,
{
    let mapping = &*(user_data as *const Mapping<F>);
    let result = catch(|| {
        let inputs = Tensor::slice_from_raw(inputs, input_count);
        let mut outputs: Vec<_> = (0..output_count)
            .map(|index| zeroed(&*outputs.add(index)))
            .collect();
        (mapping.map)(inputs, &mut outputs)
    });
    mapping.causes.code_of(result)
}

/// The library gives memory whose content is undefined; a slice must not have such.
pub(crate) unsafe fn zeroed<'a>(output: &sys::mdist_tensor) -> TensorMut<'a> {
    let bytes = elements_of(output) * sys::mdist_dtype_size(output.dtype);
    if bytes != 0 {
        ptr::write_bytes(output.data.cast::<u8>(), 0, bytes);
    }
    TensorMut::from_raw(*output)
}

/// An mdist_free_fn. What the closure owns may be handles: destroying those is allowed here.
unsafe extern "C" fn free_mapping<F: Send + 'static>(mapping: *mut c_void) {
    drop_quietly(Box::from_raw(mapping.cast::<Mapping<F>>()));
}
