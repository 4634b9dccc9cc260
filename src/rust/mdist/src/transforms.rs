// SPDX-License-Identifier: Apache-2.0
//! More transforms of datasets: choosing elements, joining datasets, cutting new batches.
use std::os::raw::c_void;
use std::ptr;
use std::sync::Arc;

use mdist_sys as sys;

use crate::array::Array;
use crate::cause::{catch, drop_quietly, Causes};
use crate::dataset::chosen;
use crate::error::{make, Result, StepResult};
use crate::tensor::{raw_tensor, Tensor};
use crate::Dataset;

struct Filtering<F> {
    filter: F,
    causes: Arc<Causes>,
}

impl Dataset {
    /// The first `count` elements, or all if there are fewer.
    pub fn take(&self, count: u64) -> Result<Dataset> {
        // Safety, here and below: derive gives a handle of ours.
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_take(from, count, out, ptr::null(), error)
        })
    }

    /// All but the first `count` elements.
    pub fn skip(&self, count: u64) -> Result<Dataset> {
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_skip(from, count, out, ptr::null(), error)
        })
    }

    /// Keeps the elements of the first iteration that reaches its end in memory, for later ones.
    pub fn cache(&self) -> Result<Dataset> {
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_cache(from, out, ptr::null(), error)
        })
    }

    /// Each row of each element as an element of its own.
    pub fn unbatch(&self) -> Result<Dataset> {
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_unbatch(from, out, ptr::null(), error)
        })
    }

    /// Cuts the rows of all elements, taken as one sequence, into new batches of these sizes, again
    /// and again in this order.
    pub fn rebatch(&self, sizes: &[u64], drop_remainder: bool) -> Result<Dataset> {
        let (numbers, count) = (sizes.as_ptr(), sizes.len());
        let options = chosen(sys::MDIST_DATASET_DROP_REMAINDER, drop_remainder);
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_rebatch(from, numbers, count, out, &options, error)
        })
    }

    /// [`batch`](Dataset::batch) of elements of different shapes: pads each dimension at its end, up
    /// to the longest of the batch, with zeros.
    pub fn padded_batch(&self, batch_size: u64, drop_remainder: bool) -> Result<Dataset> {
        self.padded(batch_size, drop_remainder, &[])
    }

    /// The same to given sizes and with given values: for each component an array of one element,
    /// and the size of each dimension, of which [`UNKNOWN_LENGTH`](crate::UNKNOWN_LENGTH) is the longest of the batch.
    pub fn padded_batch_to(
        &self,
        batch_size: u64,
        drop_remainder: bool,
        paddings: &[(Array, Vec<usize>)],
    ) -> Result<Dataset> {
        self.padded(batch_size, drop_remainder, paddings)
    }

    fn padded(
        &self,
        batch_size: u64,
        drop_remainder: bool,
        paddings: &[(Array, Vec<usize>)],
    ) -> Result<Dataset> {
        let mut described = Vec::new();
        for (value, shape) in paddings {
            let value = value.tensor();
            if value.elements() != 1 || shape.len() > sys::MDIST_MAX_RANK as usize {
                let sentence = format!(
                    "a padding of {} elements for {} dimensions; it has one element, for 8 dimensions at most",
                    value.elements(),
                    shape.len()
                );
                return Err(crate::Error::invalid(
                    "mdist_dataset_padded_batch",
                    sentence,
                ));
            }
            let data = value.raw().data.cast::<u8>();
            described.push(raw_tensor(value.dtype(), data, shape));
        }
        let list = if described.is_empty() {
            ptr::null()
        } else {
            described.as_ptr()
        };
        let options = chosen(sys::MDIST_DATASET_DROP_REMAINDER, drop_remainder);
        // Safety: descriptions of readable values, which are copied.
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_padded_batch(
                from,
                batch_size,
                list,
                described.len(),
                out,
                &options,
                error,
            )
        })
    }

    /// The elements for which `filter` returns `true`. It runs where a map's closure would.
    pub fn filter<F>(&self, filter: F) -> Result<Dataset>
    where
        F: Fn(&[Tensor<'_>]) -> StepResult<bool> + Send + Sync + 'static,
    {
        let filtering = Box::new(Filtering {
            filter,
            causes: self.causes().clone(),
        });
        let kept = Box::into_raw(filtering).cast();
        // Safety: the closure may be called from any thread until free_filtering, which is called
        // exactly once, whatever happens.
        self.derive(|from, out, error| unsafe {
            sys::mdist_dataset_filter(
                from,
                Some(filter_of::<F>),
                kept,
                Some(free_filtering::<F>),
                out,
                ptr::null(),
                error,
            )
        })
    }

    /// These elements, then those of another dataset.
    pub fn concatenate(&self, other: &Dataset) -> Result<Dataset> {
        joined(&[self, other], |out, error| unsafe {
            sys::mdist_dataset_concatenate(self.raw(), other.raw(), out, ptr::null(), error)
        })
    }

    /// Element i has the components of element i of each dataset. It ends with the shortest.
    pub fn zip(sources: &[&Dataset]) -> Result<Dataset> {
        let handles: Vec<_> = sources.iter().map(|one| one.raw() as *const _).collect();
        joined(sources, |out, error| unsafe {
            sys::mdist_dataset_zip(handles.as_ptr(), handles.len(), out, ptr::null(), error)
        })
    }
}

/// A dataset that finds the causes of all its sources.
fn joined(
    sources: &[&Dataset],
    make_it: impl FnOnce(*mut *mut sys::mdist_dataset, *mut *mut sys::mdist_error) -> sys::mdist_status,
) -> Result<Dataset> {
    let causes = Arc::<Causes>::default();
    for source in sources {
        causes.look_in(source.causes());
    }
    Ok(Dataset::own(make(make_it)?, causes))
}

/// An mdist_filter_fn around the closure in `user_data`.
unsafe extern "C" fn filter_of<F>(
    inputs: *const sys::mdist_tensor,
    input_count: usize,
    keep: *mut i32,
    user_data: *mut c_void,
) -> i32
where
    F: Fn(&[Tensor<'_>]) -> StepResult<bool>,
{
    let filtering = &*(user_data as *const Filtering<F>);
    let result = catch(|| {
        *keep = i32::from((filtering.filter)(Tensor::slice_from_raw(
            inputs,
            input_count,
        ))?);
        Ok(())
    });
    filtering.causes.code_of(result)
}

/// An mdist_free_fn, as free_mapping.
unsafe extern "C" fn free_filtering<F: Send + 'static>(filtering: *mut c_void) {
    drop_quietly(Box::from_raw(filtering.cast::<Filtering<F>>()));
}
