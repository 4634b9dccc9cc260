// SPDX-License-Identifier: Apache-2.0
//! Runs on threads of one's own.
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::thread;

use mdist_sys as sys;

use crate::cause::catch;
use crate::error::{call, make, Result, StepResult};
use crate::replica::Replica;
use crate::run::{Run, Shared};
use crate::{Strategy, Value};

impl Strategy {
    /// [`Strategy::run_with`] on threads that are made for it, one for each local replica; the
    /// library's are not used, and need not be there (`executor: caller`).
    pub fn run_on_threads<F>(&self, run: Run<'_>, step: F) -> Result<Vec<Option<Value>>>
    where
        F: Fn(&Replica<'_>) -> StepResult + Sync,
    {
        let open = self.begin(run)?;
        thread::scope(|scope| {
            for local_replica in 0..self.local_replica_count() {
                let (open, step) = (&open, &step);
                // What goes wrong in a replica is what `end` returns.
                let body = move || drop(open.step(local_replica, step));
                let name = format!("replica {local_replica}");
                if let Err(error) = thread::Builder::new().name(name).spawn_scoped(scope, body) {
                    drop(open.step(local_replica, |_| Err(error.into())));
                }
            }
        });
        open.end()
    }

    /// Opens a run for threads that are there already: each enters one replica, and
    /// [`OpenRun::end`] closes it.
    pub fn begin<'a>(&'a self, run: Run<'a>) -> Result<OpenRun<'a>> {
        let results = run.empty_results().len();
        let io = sys::mdist_run_io {
            result_count: results,
            ..run.io(&mut [])
        };
        // Safety: handles of ours.
        call(|error| unsafe { sys::mdist_run_begin(self.raw(), &io, error) })?;
        Ok(OpenRun {
            strategy: self,
            shared: Shared::new(self),
            results,
            ended: false,
            arguments: PhantomData,
        })
    }
}

/// A run between its beginning and its end. Share it with the threads that enter its replicas.
/// Dropped without an end it ends, and results and errors are lost.
pub struct OpenRun<'a> {
    strategy: &'a Strategy,
    shared: Shared,
    results: usize,
    ended: bool,
    arguments: PhantomData<&'a Value>,
}

impl OpenRun<'_> {
    /// Enters a local replica on this thread. Each can be entered once.
    pub fn enter(&self, local_replica: u32) -> Result<Entered<'_>> {
        // Safety: handles of ours. The replica cannot outlive self, nor self be ended, while it is
        // entered.
        let replica = make(|out, error| unsafe {
            sys::mdist_replica_enter(self.strategy.raw(), local_replica, out, error)
        })?;
        Ok(Entered(Replica::new(replica, &self.shared)?))
    }

    /// Enters, calls `step`, and leaves as it returned or panicked.
    pub fn step<F>(&self, local_replica: u32, step: F) -> Result<()>
    where
        F: FnOnce(&Replica<'_>) -> StepResult,
    {
        let entered = self.enter(local_replica)?;
        let result = catch(|| step(&entered));
        entered.exit(result)
    }

    /// Closes the run, when all have left: what [`Strategy::run_with`] would have returned.
    pub fn end(mut self) -> Result<Vec<Option<Value>>> {
        self.ended = true;
        self.close()
    }

    fn close(&self) -> Result<Vec<Option<Value>>> {
        let mut results = vec![ptr::null_mut(); self.results];
        // Safety: handles of ours, room for all results.
        let done = call(|error| unsafe {
            sys::mdist_run_end(
                self.strategy.raw(),
                results.as_mut_ptr(),
                results.len(),
                error,
            )
        });
        self.shared.causes.attach(done)?;
        Ok(results.into_iter().map(Value::own_if_any).collect())
    }
}

impl Drop for OpenRun<'_> {
    fn drop(&mut self) {
        if !self.ended {
            drop(self.close());
        }
    }
}

/// A replica in its step, on the thread that entered it. Leave by [`Entered::exit`]; to be dropped
/// without it, by `?` or a panic, fails the run.
pub struct Entered<'run>(Replica<'run>);

impl Entered<'_> {
    /// Leaves the step. An error fails the run, and is what its end returns.
    pub fn exit(self, result: StepResult) -> Result<()> {
        ManuallyDrop::new(self).leave(result)
    }

    fn leave(&self, result: StepResult) -> Result<()> {
        let code = self.0.shared().causes.code_of(result);
        // Safety: our handle, and its last use.
        call(|error| unsafe { sys::mdist_replica_exit(self.0.raw(), code, error) })
    }
}

impl<'run> Deref for Entered<'run> {
    type Target = Replica<'run>;

    fn deref(&self) -> &Replica<'run> {
        &self.0
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        drop(self.leave(Err(
            "the replica was dropped inside its step; leave it by exit".into(),
        )));
    }
}
