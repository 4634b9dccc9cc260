// SPDX-License-Identifier: Apache-2.0
//! Functions of numbers and values: elements mapped over replicas, values made replica by replica,
//! and what is fetched.
use std::os::raw::c_void;

use mdist_sys as sys;

use crate::cause::{catch, Causes};
use crate::config::c_string;
use crate::error::{call, make, Result, StepResult};
use crate::replica::Replica;
use crate::run::{Run, Shared};
use crate::tensor::Tensor;
use crate::{Strategy, Value};

struct Map<'a, F> {
    function: &'a F,
    shared: &'a Shared,
}

struct Call<'a, F> {
    function: F,
    causes: &'a Causes,
}

impl Strategy {
    /// Calls `function` for elements 0 to `count - 1`, element i on replica i mod
    /// [`replica_count`](Strategy::replica_count), all replicas of the job at the same time; the
    /// rest is as with [`run_with`](Strategy::run_with). Results are stacked, a row for each
    /// element of a replica. No collectives and merges: replicas have different numbers of
    /// elements.
    pub fn map<F>(&self, count: u64, run: Run<'_>, function: F) -> Result<Vec<Option<Value>>>
    where
        F: Fn(&Replica<'_>, u64) -> StepResult + Sync,
    {
        let shared = Shared::new(self);
        let context = Map {
            function: &function,
            shared: &shared,
        };
        let mut results = run.empty_results();
        let io = run.io(&mut results);
        // Safety: as for a run.
        let done = call(|error| unsafe {
            sys::mdist_map(
                self.raw(),
                count,
                Some(element_of::<F>),
                &context as *const Map<'_, F> as *mut c_void,
                &io,
                error,
            )
        });
        shared.causes.attach(done)?;
        Ok(results.into_iter().map(Value::own_if_any).collect())
    }

    /// Calls `function` with each local replica's id and the number of all, one after another on
    /// this thread, and regroups what it returns: a per-replica value, or a structure of such.
    pub fn values_from_function<F>(&self, function: F) -> Result<Value>
    where
        F: FnMut(u32, u32) -> StepResult<Value>,
    {
        let causes = Causes::default();
        let mut context = Call {
            function,
            causes: &causes,
        };
        // Safety: the closure stays on this thread and is called before the call returns.
        let made = make(|out, error| unsafe {
            let context = &mut context as *mut Call<'_, F> as *mut c_void;
            sys::mdist_values_from_function(self.raw(), Some(value_of::<F>), context, out, error)
        });
        causes.attach(made).map(Value::own)
    }

    /// The content of a plain or mirrored value as a plain one on the device of that name; `None`:
    /// in memory of the host.
    pub fn fetch(&self, value: &Value, destination: Option<&str>) -> Result<Value> {
        self.fetch_raw(value, destination, None, std::ptr::null_mut())
    }

    /// The same of what `function` makes of the content where that lies.
    pub fn fetch_with<F>(
        &self,
        value: &Value,
        destination: Option<&str>,
        function: F,
    ) -> Result<Value>
    where
        F: FnMut(&Tensor<'_>) -> StepResult<Value>,
    {
        let causes = Causes::default();
        let mut context = Call {
            function,
            causes: &causes,
        };
        let user_data = &mut context as *mut Call<'_, F> as *mut c_void;
        causes.attach(self.fetch_raw(value, destination, Some(fetch_of::<F>), user_data))
    }

    fn fetch_raw(
        &self,
        value: &Value,
        destination: Option<&str>,
        function: sys::mdist_fetch_fn,
        user_data: *mut c_void,
    ) -> Result<Value> {
        let name = c_string(destination.unwrap_or(""), "mdist_strategy_fetch")?;
        // Safety: handles of ours; the closure stays on this thread and is called before the call
        // returns.
        make(|out, error| unsafe {
            let name = name.as_ptr();
            sys::mdist_strategy_fetch(
                self.raw(),
                value.raw(),
                name,
                function,
                user_data,
                out,
                error,
            )
        })
        .map(Value::own)
    }
}

/// An mdist_element_fn around the closure in `user_data`.
unsafe extern "C" fn element_of<F>(
    replica: *mut sys::mdist_replica,
    element: u64,
    user_data: *mut c_void,
) -> i32
where
    F: Fn(&Replica<'_>, u64) -> StepResult + Sync,
{
    let context = &*(user_data as *const Map<'_, F>);
    let result = catch(|| (context.function)(&Replica::new(replica, context.shared)?, element));
    context.shared.causes.code_of(result)
}

/// An mdist_value_fn around the closure in `user_data`.
unsafe extern "C" fn value_of<F>(
    replica_id: u32,
    replica_count: u32,
    out: *mut *mut sys::mdist_value,
    user_data: *mut c_void,
) -> i32
where
    F: FnMut(u32, u32) -> StepResult<Value>,
{
    let context = &mut *(user_data as *mut Call<'_, F>);
    let function = &mut context.function;
    let made = catch(|| function(replica_id, replica_count));
    context
        .causes
        .code_of(made.map(|value| *out = value.into_raw()))
}

/// An mdist_fetch_fn around the closure in `user_data`.
unsafe extern "C" fn fetch_of<F>(
    source: *const sys::mdist_tensor,
    result: *mut *mut sys::mdist_value,
    user_data: *mut c_void,
) -> i32
where
    F: FnMut(&Tensor<'_>) -> StepResult<Value>,
{
    let context = &mut *(user_data as *mut Call<'_, F>);
    let function = &mut context.function;
    let made = catch(|| function(&Tensor::from_raw(*source)));
    context
        .causes
        .code_of(made.map(|value| *result = value.into_raw()))
}
