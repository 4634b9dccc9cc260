// SPDX-License-Identifier: Apache-2.0
//! Runs: a closure called once per local replica, all at the same time.
use std::borrow::Borrow;
use std::marker::PhantomData;
use std::mem;
use std::os::raw::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mdist_sys as sys;

use crate::cause::{catch, Causes};
use crate::error::{call, Error, Result, StepResult};
use crate::replica::Replica;
use crate::variable::{Of, Variable};
use crate::{Strategy, Value};

/// What a run takes and gives beside its step: `Run::new().arguments(&batch).results(1)`.
#[derive(Default)]
pub struct Run<'a> {
    arguments: Vec<*mut sys::mdist_value>,
    results: usize,
    timeout: Option<Duration>,
    values: PhantomData<&'a Value>,
}

impl<'a> Run<'a> {
    pub fn new() -> Run<'a> {
        Run::default()
    }

    /// Values that the step reads by [`Replica::argument`]: each replica its own tensor of a
    /// per-replica or mirrored one, all the same of a plain one.
    pub fn arguments<V: Borrow<Value>>(mut self, values: &'a [V]) -> Run<'a> {
        self.arguments = values.iter().map(|value| value.borrow().raw()).collect();
        self
    }

    /// How many results replicas may set by [`Replica::set_result`].
    pub fn results(mut self, count: usize) -> Run<'a> {
        self.results = count;
        self
    }

    /// For each wait for other replicas in the run; else the configuration's
    /// `communication.timeout`.
    pub fn timeout(mut self, timeout: Duration) -> Run<'a> {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn options(&self) -> sys::mdist_call_options {
        let timeout = self.timeout.map_or(0, |timeout| {
            u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX).max(1)
        });
        sys::mdist_call_options {
            struct_size: mem::size_of::<sys::mdist_call_options>() as u32,
            flags: 0,
            timeout_ns: timeout.min(sys::MDIST_FOREVER),
            bytes_per_pack: 0,
            implementation: 0,
            reserved: 0,
            group: ptr::null(),
        }
    }

    /// The struct of this run, whose results go to `results`. It borrows both.
    pub(crate) fn io(&self, results: &mut [*mut sys::mdist_value]) -> sys::mdist_run_io {
        sys::mdist_run_io {
            timeout_ns: self.options().timeout_ns,
            ..io_of(&self.arguments, results)
        }
    }

    pub(crate) fn empty_results(&self) -> Vec<*mut sys::mdist_value> {
        vec![ptr::null_mut(); self.results]
    }
}

/// The struct of a run or an update. It borrows both slices.
pub(crate) fn io_of(
    arguments: &[*mut sys::mdist_value],
    results: &mut [*mut sys::mdist_value],
) -> sys::mdist_run_io {
    let count = results.len();
    sys::mdist_run_io {
        struct_size: mem::size_of::<sys::mdist_run_io>() as u32,
        flags: 0,
        arguments: arguments.as_ptr(),
        argument_count: arguments.len(),
        results: if count == 0 {
            ptr::null_mut()
        } else {
            results.as_mut_ptr()
        },
        result_count: count,
        timeout_ns: 0,
    }
}

/// What all replicas of one run have in common.
pub(crate) struct Shared {
    pub of: Of,
    pub causes: Causes,
    /// Made in the step; kept until the run ends, so that every replica finds them.
    pub variables: Mutex<Vec<Variable>>,
    /// Dropped when the run is over.
    pub alive: Arc<()>,
}

impl Shared {
    pub fn new(strategy: &Strategy) -> Shared {
        Shared::with(strategy.of())
    }

    pub fn with(of: Of) -> Shared {
        Shared {
            of,
            causes: Causes::default(),
            variables: Mutex::default(),
            alive: Arc::default(),
        }
    }
}

struct Call<'a, F> {
    step: &'a F,
    shared: &'a Shared,
}

impl Strategy {
    /// Calls `step` once per local replica, all at the same time, and returns when all have
    /// returned: replica 0's on this thread, the others' on threads of the library.
    ///
    /// The first failure (a step that returned an error or panicked, or a collective in it that
    /// failed) releases all replicas that wait in a collective, and is what this returns.
    pub fn run<F>(&self, step: F) -> Result<()>
    where
        F: Fn(&Replica<'_>) -> StepResult + Sync,
    {
        self.run_with(Run::new(), step).map(drop)
    }

    /// The same with arguments, results (`None` where no replica set one) and a timeout.
    pub fn run_with<F>(&self, run: Run<'_>, step: F) -> Result<Vec<Option<Value>>>
    where
        F: Fn(&Replica<'_>) -> StepResult + Sync,
    {
        let shared = Shared::new(self);
        let context = Call {
            step: &step,
            shared: &shared,
        };
        let mut results = run.empty_results();
        let io = run.io(&mut results);
        // Safety: values and closure are borrowed for longer than this call, and no step outlives
        // it. Steps run at the same time, hence Sync; nothing is moved to another thread
        // but references.
        let done = call(|error| unsafe {
            sys::mdist_run(
                self.raw(),
                Some(step_of::<F>),
                &context as *const Call<'_, F> as *mut c_void,
                &io,
                error,
            )
        });
        shared.causes.attach(done)?;
        Ok(results.into_iter().map(Value::own_if_any).collect())
    }

    /// The same, and each replica has a state of its own to write in: `states[i]` is that of local
    /// replica `i`.
    pub fn run_each<S, F>(
        &self,
        run: Run<'_>,
        states: &mut [S],
        step: F,
    ) -> Result<Vec<Option<Value>>>
    where
        S: Send,
        F: Fn(&Replica<'_>, &mut S) -> StepResult + Sync,
    {
        let count = self.local_replica_count() as usize;
        if states.len() != count {
            let sentence = format!(
                "{} states for {count} local replicas; there must be one for each",
                states.len()
            );
            return Err(Error::invalid("mdist_run", sentence));
        }
        // Nobody waits for these: each replica takes its own.
        let states: Vec<Mutex<&mut S>> = states.iter_mut().map(Mutex::new).collect();
        self.run_with(run, |replica| {
            let state = &states[replica.local_index() as usize];
            step(
                replica,
                &mut state.lock().unwrap_or_else(PoisonError::into_inner),
            )
        })
    }
}

/// An mdist_step_fn around the closure in `user_data`.
unsafe extern "C" fn step_of<F>(replica: *mut sys::mdist_replica, user_data: *mut c_void) -> i32
where
    F: Fn(&Replica<'_>) -> StepResult + Sync,
{
    let context = &*(user_data as *const Call<'_, F>);
    let result = catch(|| (context.step)(&Replica::new(replica, context.shared)?));
    context.shared.causes.code_of(result)
}
