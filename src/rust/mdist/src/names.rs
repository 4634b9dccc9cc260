// SPDX-License-Identifier: Apache-2.0
//! Steps and updates by name. With the configuration `strategy: in_graph`, worker 0 runs them for the
//! replicas of all workers, and the others serve.
use std::any::Any;
use std::os::raw::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mdist_sys as sys;

use crate::cause::catch;
use crate::config::c_string;
use crate::copies::Lock;
use crate::error::{call, Result, StepResult};
use crate::replica::Replica;
use crate::run::{io_of, Run, Shared};
use crate::tensor::{Tensor, TensorMut};
use crate::update::Passed;
use crate::variable::Of;
use crate::{Strategy, Value, Variable};

/// What a strategy keeps for its names: the closures, as long as it lives, and what is under way.
#[derive(Default)]
pub(crate) struct Names {
    runs: Arc<Runs>,
    functions: Mutex<Vec<Box<dyn Any + Send>>>, // C has their addresses
}

/// The runs by name that are under way, the innermost last.
#[derive(Default)]
struct Runs(Mutex<Vec<Arc<Shared>>>);

impl Runs {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Shared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of a run that this object has not begun, nothing is known.
    fn innermost(&self, of: Of) -> Arc<Shared> {
        let known = self.lock().last().cloned();
        known.unwrap_or_else(|| Arc::new(Shared::with(of)))
    }
}

struct Function<F> {
    function: F,
    runs: Arc<Runs>,
    of: Of,
}

impl Strategy {
    /// Registers a step under a name for [`Strategy::run_named`]. The last registration of a name
    /// counts. With `strategy: in_graph`, all workers register the same names before they serve. The
    /// closure is kept as long as the strategy.
    pub fn register_step<F>(&self, name: &str, step: F) -> Result<()>
    where
        F: Fn(&Replica<'_>) -> StepResult + Send + Sync + 'static,
    {
        self.register(name, step, |name, data, error| unsafe {
            // Safety: the closure is Send and Sync, and stays as long as the strategy.
            sys::mdist_step_register(self.raw(), name, Some(named_step::<F>), data, error)
        })
    }

    /// Registers an update under a name for [`Strategy::update_named`]. It gets its local replica, the
    /// copy (none if there is no variable) and its tensor of each argument, and returns as many values
    /// as are asked for.
    pub fn register_update<F>(&self, name: &str, update: F) -> Result<()>
    where
        F: Fn(u32, Option<&mut TensorMut<'_>>, &[Tensor<'_>]) -> StepResult<Vec<Option<Value>>>
            + Send
            + Sync
            + 'static,
    {
        self.register(name, update, |name, data, error| unsafe {
            // Safety: as above.
            sys::mdist_update_register(self.raw(), name, Some(named_update::<F>), data, error)
        })
    }

    fn register<F: Send + 'static>(
        &self,
        name: &str,
        function: F,
        make_call: impl FnOnce(*const i8, *mut c_void, *mut *mut sys::mdist_error) -> i32,
    ) -> Result<()> {
        let name = c_string(name, "mdist_step_register")?;
        let mut kept = Box::new(Function {
            function,
            runs: self.named.runs.clone(),
            of: self.of(),
        });
        let data = &mut *kept as *mut Function<F> as *mut c_void;
        call(|error| make_call(name.as_ptr().cast(), data, error))?;
        let functions = &self.named.functions;
        functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(kept);
        Ok(())
    }

    /// Runs the step that is registered under a name, as [`Strategy::run_with`] does; on a client, on
    /// the replicas of all workers.
    pub fn run_named(&self, name: &str, run: Run<'_>) -> Result<Vec<Option<Value>>> {
        let name = c_string(name, "mdist_run_named")?;
        let mut results = run.empty_results();
        let io = run.io(&mut results);
        self.with_causes(|error| unsafe {
            // Safety: values are borrowed for longer than this call.
            sys::mdist_run_named(self.raw(), name.as_ptr(), &io, error)
        })?;
        Ok(results.into_iter().map(Value::own_if_any).collect())
    }

    /// Updates a variable with the update that is registered under a name, or without one state that
    /// belongs to none; on a client, the copies of all workers.
    pub fn update_named(
        &self,
        variable: Option<&Variable>,
        name: &str,
        arguments: &[&Value],
        result_count: usize,
    ) -> Result<Vec<Option<Value>>> {
        let name = c_string(name, "mdist_update_named")?;
        let _locked = match variable {
            Some(variable) => variable.lock_all("updated", Lock::try_write)?,
            None => Vec::new(),
        };
        let handle = variable.map_or(ptr::null_mut(), Variable::raw);
        let values: Vec<_> = arguments.iter().map(|value| value.raw()).collect();
        let mut results = vec![ptr::null_mut(); result_count];
        let io = io_of(&values, &mut results);
        self.with_causes(|error| unsafe {
            // Safety: handles of ours; no copy is held by anybody.
            sys::mdist_update_named(self.raw(), handle, name.as_ptr(), &io, error)
        })?;
        Ok(results.into_iter().map(Value::own_if_any).collect())
    }

    /// Does what the client (worker 0) asks, until the client drops its strategy. With
    /// `strategy: in_graph`, the other workers call it. The timeout of the [`Run`] is for each wait for
    /// the client's next command.
    pub fn serve(&self, run: Run<'_>) -> Result<()> {
        let options = run.options();
        // Safety: our handle.
        self.with_causes(|error| unsafe { sys::mdist_serve(self.raw(), &options, error) })
    }

    fn with_causes(
        &self,
        make_call: impl FnOnce(*mut *mut sys::mdist_error) -> sys::mdist_status,
    ) -> Result<()> {
        let shared = Arc::new(Shared::new(self));
        self.named.runs.lock().push(shared.clone());
        let done = call(make_call);
        self.named.runs.lock().pop();
        shared.causes.attach(done)
    }
}

/// An mdist_step_fn around the closure in `user_data`.
unsafe extern "C" fn named_step<F>(replica: *mut sys::mdist_replica, user_data: *mut c_void) -> i32
where
    F: Fn(&Replica<'_>) -> StepResult + Send + Sync + 'static,
{
    let named = &*(user_data as *const Function<F>);
    let shared = named.runs.innermost(named.of);
    let result = catch(|| (named.function)(&Replica::new(replica, &shared)?));
    shared.causes.code_of(result)
}

/// An mdist_update_fn around the closure in `user_data`.
unsafe extern "C" fn named_update<F>(
    local_replica: u32,
    copy: *const sys::mdist_tensor,
    arguments: *const sys::mdist_tensor,
    argument_count: usize,
    results: *mut *mut sys::mdist_value_t,
    result_count: usize,
    user_data: *mut c_void,
) -> i32
where
    F: Fn(u32, Option<&mut TensorMut<'_>>, &[Tensor<'_>]) -> StepResult<Vec<Option<Value>>>
        + Send
        + Sync
        + 'static,
{
    let named = &*(user_data as *const Function<F>);
    let shared = named.runs.innermost(named.of);
    let passed = Passed {
        local_replica,
        copy,
        arguments,
        argument_count,
        results,
        result_count,
    };
    passed.answer("mdist_update_named", &shared.causes, &named.function)
}
