// SPDX-License-Identifier: Apache-2.0
//! Updates: a closure for each copy of a variable, from outside of steps.
use std::os::raw::c_void;

use mdist_sys as sys;

use crate::cause::{catch, Causes};
use crate::copies::Lock;
use crate::error::{call, Result, StepResult};
use crate::tensor::{Tensor, TensorMut};
use crate::{Value, Variable};

struct Call<'a, F> {
    update: F,
    causes: &'a Causes,
}

impl Variable {
    /// Calls `update` for each local copy, one after another on this thread: with its local
    /// replica, its memory, and of each argument the tensor that belongs to it. Stops at the
    /// first failure; copies already changed stay so.
    pub fn update<F>(&self, arguments: &[&Value], update: F) -> Result<()>
    where
        F: FnMut(u32, &mut TensorMut<'_>, &[Tensor<'_>]) -> StepResult,
    {
        let _locked = self.lock_all("updated", Lock::try_write)?;
        let causes = Causes::default();
        let mut context = Call {
            update,
            causes: &causes,
        };
        let arguments: Vec<_> = arguments.iter().map(|value| value.raw()).collect();
        // Safety: handles of ours; the closure stays on this thread and is called before the call
        // returns.
        causes.attach(call(|error| unsafe {
            sys::mdist_update(
                self.raw(),
                Some(update_of::<F>),
                &mut context as *mut Call<'_, F> as *mut c_void,
                arguments.as_ptr(),
                arguments.len(),
                std::ptr::null_mut(),
                0,
                error,
            )
        }))
    }
}

/// An mdist_update_fn around the closure in `user_data`.
unsafe extern "C" fn update_of<F>(
    local_replica: u32,
    copy: *const sys::mdist_tensor,
    arguments: *const sys::mdist_tensor,
    argument_count: usize,
    _results: *mut *mut sys::mdist_value_t,
    _result_count: usize,
    user_data: *mut c_void,
) -> i32
where
    F: FnMut(u32, &mut TensorMut<'_>, &[Tensor<'_>]) -> StepResult,
{
    let context = &mut *(user_data as *mut Call<'_, F>);
    let update = &mut context.update;
    let result = catch(|| {
        let arguments = Tensor::slice_from_raw(arguments, argument_count);
        update(local_replica, &mut TensorMut::from_raw(*copy), arguments)
    });
    context.causes.code_of(result)
}
