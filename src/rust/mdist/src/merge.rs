// SPDX-License-Identifier: Apache-2.0
//! Merges: what one replica does once for all in the middle of a step.
use std::os::raw::c_void;
use std::ptr;
use std::slice;

use mdist_sys as sys;

use crate::array::Array;
use crate::cause::catch;
use crate::error::{call, Result, StepResult};
use crate::replica::Replica;
use crate::run::Shared;
use crate::strategy::Lent;
use crate::tensor::{raw_tensor, Tensor};
use crate::{Dtype, Strategy, Value};

struct Call<'a, F> {
    merge: Option<F>,
    shared: &'a Shared,
}

impl Replica<'_> {
    /// Pauses every local replica, calls local replica 0's `merge` once, on its thread, and hands
    /// each replica its own part of the values that it returns; `None` where it returns none.
    ///
    /// `merge` is given the strategy, in cross-replica context, and the replicas' tensors,
    /// regrouped: one value for each of `arguments`. It returns `result_count` values;
    /// `result_count` is the same on every replica.
    pub fn merge_call<F>(
        &self,
        arguments: &[Tensor<'_>],
        result_count: usize,
        merge: F,
    ) -> Result<Vec<Option<Array>>>
    where
        F: FnOnce(&Strategy, &[Value]) -> StepResult<Vec<Option<Value>>>,
    {
        let mut context = Call {
            merge: Some(merge),
            shared: self.shared(),
        };
        let none = raw_tensor::<u8>(Dtype::from_raw(sys::MDIST_DTYPE_NONE), ptr::null_mut(), &[]);
        let mut results = vec![none; result_count];
        // Safety: an array of Tensor is one of mdist_tensor_t, each readable; the closure stays on
        // this thread and is called at most once before the call returns.
        call(|error| unsafe {
            sys::mdist_merge_call(
                self.raw(),
                Some(merge_of::<F>),
                &mut context as *mut Call<'_, F> as *mut c_void,
                arguments.as_ptr().cast(),
                arguments.len(),
                results.as_mut_ptr(),
                results.len(),
                ptr::null(),
                error,
            )
        })?;
        // Borrowed until this replica's next merge only: copied now.
        let copy = |result| copy_if_any(self, result);
        results.into_iter().map(copy).collect()
    }
}

fn copy_if_any(replica: &Replica<'_>, result: sys::mdist_tensor) -> Result<Option<Array>> {
    if result.dtype == sys::MDIST_DTYPE_NONE {
        return Ok(None);
    }
    // Safety: readable until this replica merges again or leaves.
    Array::copy_of(unsafe { Tensor::from_raw(result) }, replica).map(Some)
}

/// An mdist_merge_fn around the closure in `user_data`.
unsafe extern "C" fn merge_of<F>(
    strategy: *mut sys::mdist_strategy,
    arguments: *const *mut sys::mdist_value,
    argument_count: usize,
    results: *mut *mut sys::mdist_value,
    result_count: usize,
    user_data: *mut c_void,
) -> i32
where
    F: FnOnce(&Strategy, &[Value]) -> StepResult<Vec<Option<Value>>>,
{
    let context = &mut *(user_data as *mut Call<'_, F>);
    let merge = context.merge.take();
    let merged = catch(|| {
        let merge = merge.ok_or("the merge was called twice")?;
        let strategy = Lent::new(strategy).ok_or("the merge was called without a strategy")?;
        // A Value is its handle, and a borrowed one is not dropped.
        let arguments = if argument_count == 0 {
            &[]
        } else {
            slice::from_raw_parts(arguments.cast(), argument_count)
        };
        let values = merge(&strategy, arguments)?;
        if values.len() == result_count {
            return Ok(values);
        }
        Err(format!(
            "the merge returned {} values, not {result_count}",
            values.len()
        )
        .into())
    });
    context.shared.causes.code_of(merged.map(|values| {
        for (index, value) in values.into_iter().enumerate() {
            *results.add(index) = value.map_or(ptr::null_mut(), Value::into_raw);
        }
    }))
}
