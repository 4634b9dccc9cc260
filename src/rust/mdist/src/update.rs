// SPDX-License-Identifier: Apache-2.0
//! Updates: a closure for each copy of a variable, from outside of steps.
use std::os::raw::c_void;

use mdist_sys as sys;

use crate::cause::{catch, Causes};
use crate::copies::Lock;
use crate::error::{call, Error, Result, StepResult};
use crate::run::io_of;
use crate::tensor::{Tensor, TensorMut};
use crate::{Strategy, Value, Variable};

/// What an update gives beside what it changes: plain values, or `None`.
pub(crate) type Results = Vec<Option<Value>>;

struct Call<'a, F> {
    update: F,
    causes: &'a Causes,
}

impl Variable {
    /// Calls `update` for each local copy, one after another on this thread: with its local
    /// replica, its memory, and of each argument the tensor that belongs to it. Stops at the
    /// first failure; copies already changed stay so.
    pub fn update<F>(&self, arguments: &[&Value], mut update: F) -> Result<()>
    where
        F: FnMut(u32, &mut TensorMut<'_>, &[Tensor<'_>]) -> StepResult,
    {
        self.update_with(arguments, 0, |local_replica, copy, arguments| {
            update(local_replica, copy, arguments).map(|()| Vec::new())
        })
        .map(drop)
    }

    /// The same with results: `result_count` plain values from each call, regrouped.
    pub fn update_with<F>(
        &self,
        arguments: &[&Value],
        result_count: usize,
        mut update: F,
    ) -> Result<Vec<Option<Value>>>
    where
        F: FnMut(u32, &mut TensorMut<'_>, &[Tensor<'_>]) -> StepResult<Vec<Option<Value>>>,
    {
        let _locked = self.lock_all("updated", Lock::try_write)?;
        run(
            arguments,
            result_count,
            |local_replica, copy, arguments| {
                update(
                    local_replica,
                    copy.expect("a variable has copies"),
                    arguments,
                )
            },
            // Safety: run's, and our handle.
            |update, data, io, error| unsafe {
                sys::mdist_update(self.raw(), update, data, io, error)
            },
        )
    }
}

impl Strategy {
    /// [`Variable::update_with`] for state that belongs to no variable, such as an optimizer's step
    /// counter: calls `update` for each local device.
    pub fn update_devices<F>(
        &self,
        arguments: &[&Value],
        result_count: usize,
        mut update: F,
    ) -> Result<Vec<Option<Value>>>
    where
        F: FnMut(u32, &[Tensor<'_>]) -> StepResult<Vec<Option<Value>>>,
    {
        run(
            arguments,
            result_count,
            |local_replica, _, arguments| update(local_replica, arguments),
            // Safety: run's, and our handle.
            |update, data, io, error| unsafe {
                sys::mdist_update_devices(self.raw(), update, data, io, error)
            },
        )
    }
}

/// Makes the call that calls back. The closure stays on this thread and is called before it
/// returns.
fn run<F>(
    arguments: &[&Value],
    result_count: usize,
    update: F,
    make_call: impl FnOnce(
        sys::mdist_update_fn,
        *mut c_void,
        *const sys::mdist_run_io,
        *mut *mut sys::mdist_error,
    ) -> sys::mdist_status,
) -> Result<Results>
where
    F: FnMut(u32, Option<&mut TensorMut<'_>>, &[Tensor<'_>]) -> StepResult<Results>,
{
    let causes = Causes::default();
    let mut context = Call {
        update,
        causes: &causes,
    };
    let values: Vec<_> = arguments.iter().map(|value| value.raw()).collect();
    let mut results = vec![std::ptr::null_mut(); result_count];
    let user_data = &mut context as *mut Call<'_, F> as *mut c_void;
    let io = io_of(&values, &mut results);
    causes.attach(call(|error| {
        make_call(Some(update_of::<F>), user_data, &io, error)
    }))?;
    Ok(results.into_iter().map(Value::own_if_any).collect())
}

/// What C passes to an mdist_update_fn.
pub(crate) struct Passed {
    pub local_replica: u32,
    pub copy: *const sys::mdist_tensor,
    pub arguments: *const sys::mdist_tensor,
    pub argument_count: usize,
    pub results: *mut *mut sys::mdist_value_t,
    pub result_count: usize,
}

impl Passed {
    /// Calls `update`, gives its values to C, and returns what C is to get. `function` is named if the values are too few
    /// or too many.
    ///
    /// # Safety
    /// The fields are those of a call by the library that has not returned.
    pub(crate) unsafe fn answer<F>(self, function: &'static str, causes: &Causes, update: F) -> i32
    where
        F: FnOnce(u32, Option<&mut TensorMut<'_>>, &[Tensor<'_>]) -> StepResult<Results>,
    {
        let updated = catch(|| {
            let arguments = Tensor::slice_from_raw(self.arguments, self.argument_count);
            let mut copy = self.copy.as_ref().map(|copy| TensorMut::from_raw(*copy));
            let values = update(self.local_replica, copy.as_mut(), arguments)?;
            if values.len() == self.result_count {
                return Ok(values);
            }
            let sentence = format!(
                "the update returned {} values, not {}",
                values.len(),
                self.result_count
            );
            Err(Error::invalid(function, sentence).into())
        });
        causes.code_of(updated.map(|values| {
            for (index, value) in values.into_iter().enumerate() {
                *self.results.add(index) = value.map_or(std::ptr::null_mut(), Value::into_raw);
            }
        }))
    }
}

/// An mdist_update_fn around the closure in `user_data`.
unsafe extern "C" fn update_of<F>(
    local_replica: u32,
    copy: *const sys::mdist_tensor,
    arguments: *const sys::mdist_tensor,
    argument_count: usize,
    results: *mut *mut sys::mdist_value_t,
    result_count: usize,
    user_data: *mut c_void,
) -> i32
where
    F: FnMut(u32, Option<&mut TensorMut<'_>>, &[Tensor<'_>]) -> StepResult<Results>,
{
    let context = &mut *(user_data as *mut Call<'_, F>);
    let passed = Passed {
        local_replica,
        copy,
        arguments,
        argument_count,
        results,
        result_count,
    };
    passed.answer("mdist_update", context.causes, &mut context.update)
}
