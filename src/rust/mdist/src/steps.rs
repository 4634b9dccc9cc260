// SPDX-License-Identifier: Apache-2.0
//! Loops: a closure for each element of an iterator, and the outputs of it and its steps.
use std::mem::ManuallyDrop;
use std::os::raw::c_void;
use std::ptr::{self, NonNull};

use mdist_sys as sys;

use crate::cause::{catch, Causes};
use crate::config::c_string;
use crate::dataset::Iter;
use crate::error::{call, call_or_end, make, Result, StepResult};
use crate::replica::Replica;
use crate::tensor::Tensor;
use crate::{Aggregation, Strategy, Value};

/// A loop of [`Strategy::run_steps`]: while it runs it takes outputs, afterwards it has them. The last
/// one that is set at a path counts.
pub struct Loop(NonNull<sys::mdist_loop>);

// Safety: functions of loops are for any thread.
unsafe impl Send for Loop {}
unsafe impl Sync for Loop {}

impl Loop {
    fn raw(&self) -> *mut sys::mdist_loop {
        self.0.as_ptr()
    }

    /// Sets an output outside of steps. With [`Aggregation::None`] it is kept as it is.
    pub fn set_output(&self, path: &str, value: &Value, aggregation: Aggregation) -> Result<()> {
        let path = c_string(path, "mdist_loop_set_output")?;
        let aggregation = aggregation.raw();
        // Safety: handles of ours.
        call(|error| unsafe {
            sys::mdist_loop_set_output(self.raw(), path.as_ptr(), value.raw(), aggregation, error)
        })
    }

    /// The outputs of a loop that is over, as a structure.
    pub fn outputs(&self) -> Result<Value> {
        // Safety: our handle.
        make(|out, error| unsafe { sys::mdist_loop_outputs(self.raw(), out, error) })
            .map(Value::own)
    }

    /// How many elements are done.
    pub fn iterations(&self) -> u64 {
        // Safety: our handle.
        unsafe { sys::mdist_loop_iterations(self.raw()) }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Safety: ours, and over.
        unsafe { sys::mdist_loop_destroy(self.raw()) }
    }
}

impl Replica<'_> {
    /// Sets this replica's part of an output, a copy of the tensor. Every replica sets the same paths
    /// with the same aggregation, which is not [`Aggregation::None`].
    pub fn set_output<'a>(
        &self,
        running: &Loop,
        path: &str,
        tensor: impl Into<Tensor<'a>>,
        aggregation: Aggregation,
    ) -> Result<()> {
        let (path, tensor) = (c_string(path, "mdist_replica_set_output")?, tensor.into());
        let aggregation = aggregation.raw();
        // Safety: handles of ours, and a readable tensor.
        call(|error| unsafe {
            let (replica, tensor) = (self.raw(), tensor.raw());
            let running = running.raw();
            sys::mdist_replica_set_output(
                replica,
                running,
                path.as_ptr(),
                tensor,
                aggregation,
                error,
            )
        })
    }
}

struct Looping<'a, F> {
    function: F,
    causes: &'a Causes,
}

impl Strategy {
    /// Calls `function` for the next elements of an iterator, `iterations` at most ([`u64::MAX`]: all),
    /// and returns the loop with its outputs. Each element is one value, a structure if it has several
    /// components. All workers call it together. `initial` gives the outputs before any was set; then
    /// no others may be set.
    pub fn run_steps<F>(
        &self,
        iterator: &mut Iter,
        iterations: u64,
        initial: Option<&Value>,
        function: F,
    ) -> Result<Loop>
    where
        F: FnMut(&Loop, &Value) -> StepResult,
    {
        let causes = Causes::default();
        causes.look_in(iterator.causes());
        let mut context = Looping {
            function,
            causes: &causes,
        };
        let user_data = &mut context as *mut Looping<'_, F> as *mut c_void;
        let initial = initial.map_or(ptr::null(), |value| value.raw() as *const _);
        let mut out = ptr::null_mut();
        // Safety: handles of ours; the closure stays on this thread, and is called before it returns.
        let done = call_or_end(|error| unsafe {
            sys::mdist_run_steps(
                self.raw(),
                iterator.raw(),
                iterations.min(sys::MDIST_FOREVER),
                Some(element_of::<F>),
                user_data,
                initial,
                &mut out,
                ptr::null(),
                error,
            )
        });
        causes.attach(done)?;
        Ok(Loop(
            NonNull::new(out).expect("a call that succeeds gives a loop"),
        ))
    }
}

/// An mdist_loop_fn around the closure in `user_data`.
unsafe extern "C" fn element_of<F>(
    _strategy: *mut sys::mdist_strategy,
    running: *mut sys::mdist_loop,
    element: *mut sys::mdist_value,
    user_data: *mut c_void,
) -> i32
where
    F: FnMut(&Loop, &Value) -> StepResult,
{
    let looping = &mut *(user_data as *mut Looping<'_, F>);
    let function = &mut looping.function;
    let result = catch(|| {
        // The library's, for as long as the call.
        let running = ManuallyDrop::new(Loop(NonNull::new(running).expect("a loop")));
        let element = ManuallyDrop::new(Value::own(element));
        function(&running, &element)
    });
    looping.causes.code_of(result)
}
