// SPDX-License-Identifier: Apache-2.0
//! Strategy: one copy of the model per device. Here what it is, and what it does with values; runs
//! are in `run`.
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use mdist_sys as sys;

use crate::buffer::BuffersMut;
use crate::cause::Causes;
use crate::config::{c_string, read_text};
use crate::dataset::Dataset;
use crate::error::{call, make, Error, Result};
use crate::names::Names;
use crate::tensor::Tensor;
use crate::version::check_version;
use crate::{Config, Value};

/// How replicas' elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    Sum,
    /// Not for integers, except in [`Strategy::reduce`] over axes.
    Mean,
    /// NaN if any is NaN; -0 is below +0.
    Min,
    Max,
    Prod,
    /// Bit by bit for integers, logical for [`Bool`](crate::Bool); likewise the next two.
    And,
    Or,
    Xor,
    /// An [`Operator`](crate::Operator): pass `&operator` where an operation is expected.
    Registered(crate::Registered),
}

impl Op {
    pub(crate) fn raw(self) -> sys::mdist_reduce_op {
        match self {
            Op::Sum => sys::MDIST_SUM,
            Op::Mean => sys::MDIST_MEAN,
            Op::Min => sys::MDIST_MIN,
            Op::Max => sys::MDIST_MAX,
            Op::Prod => sys::MDIST_PROD,
            Op::And => sys::MDIST_AND,
            Op::Or => sys::MDIST_OR,
            Op::Xor => sys::MDIST_XOR,
            Op::Registered(registered) => registered.raw(),
        }
    }
}

/// Owns the devices of this process; on each of them stands a replica. Runs, reductions and what is
/// done to variables from outside of steps come one at a time: a second one, from another thread,
/// is [`Status::FailedPrecondition`](crate::Status::FailedPrecondition), reason "busy".
pub struct Strategy {
    raw: NonNull<sys::mdist_strategy>,
    pub(crate) named: Names, // dropped after the handle
    pub(crate) blobs: Arc<Causes>,
}

// Safety: any thread; "one at a time per strategy" is checked by the library, and a second call is
// an error.
unsafe impl Send for Strategy {}
unsafe impl Sync for Strategy {}

impl Strategy {
    /// The replicas' threads start here.
    pub fn new(config: &Config) -> Result<Strategy> {
        Strategy::create(config.raw())
    }

    /// As the file named by MDIST_CONFIG and `MDIST_*` variables say.
    pub fn from_environment() -> Result<Strategy> {
        Strategy::create(ptr::null())
    }

    fn create(config: *const sys::mdist_config) -> Result<Strategy> {
        check_version()?;
        // Safety: a config that is borrowed, and so not changing, or NULL.
        let handle = make(|out, error| unsafe { sys::mdist_strategy_create(config, out, error) })?;
        Ok(Strategy {
            raw: NonNull::new(handle).expect("a call that succeeds gives a strategy"),
            named: Names::default(),
            blobs: Arc::default(),
        })
    }

    pub(crate) fn raw(&self) -> *mut sys::mdist_strategy {
        self.raw.as_ptr()
    }

    /// Replicas in the whole job.
    pub fn replica_count(&self) -> u32 {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_replica_count(self.raw()) }
    }

    /// Replicas of this process.
    pub fn local_replica_count(&self) -> u32 {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_local_replica_count(self.raw()) }
    }

    /// Workers of the job: 1 where this one is alone.
    pub fn worker_count(&self) -> u32 {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_worker_count(self.raw()) }
    }

    /// This worker's rank, from 0 to `worker_count() - 1`.
    pub fn rank(&self) -> u32 {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_rank(self.raw()) }
    }

    /// The id of this worker's first local replica. In an elastic job it changes with `regroup`.
    pub fn first_replica_id(&self) -> u32 {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_first_replica_id(self.raw()) }
    }

    /// Whether it is this worker that does what is done once for all: writes checkpoints, prints.
    pub fn is_chief(&self) -> bool {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_is_chief(self.raw()) != 0 }
    }

    /// Name of the device under a local replica: "cpu:1".
    pub fn device(&self, local_replica: u32) -> Result<String> {
        // Safety: our handle.
        read_text(|text, capacity, needed, error| unsafe {
            sys::mdist_strategy_device(self.raw(), local_replica, text, capacity, needed, error)
        })
    }

    /// Ends all collectives, now and later, for another thread to call when there is nothing left
    /// to wait for. Steps run on to their own end.
    pub fn abort(&self) {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_abort(self.raw()) }
    }

    /// What ended all collectives, such as a worker that was lost; no error while they can go on.
    /// Waits for nobody.
    pub fn check_health(&self) -> Result<()> {
        // Safety: our handle.
        call(|error| unsafe { sys::mdist_strategy_check_health(self.raw(), error) })
    }

    /// A per-replica value with copies of tensors, one for each local replica in order.
    pub fn per_replica(&self, tensors: &[Tensor<'_>]) -> Result<Value> {
        // Safety: an array of Tensor is one of mdist_tensor_t, and each is readable.
        let tensors = (tensors.as_ptr().cast(), tensors.len());
        make(|out, error| unsafe {
            sys::mdist_value_per_replica(self.raw(), tensors.0, tensors.1, out, error)
        })
        .map(Value::own)
    }

    /// A mirrored value with a copy of the tensor on every local device.
    pub fn broadcast_to<'a>(&self, tensor: impl Into<Tensor<'a>>) -> Result<Value> {
        let tensor = tensor.into();
        // Safety: the tensor is readable.
        make(|out, error| unsafe {
            sys::mdist_strategy_broadcast(self.raw(), tensor.raw(), out, error)
        })
        .map(Value::own)
    }

    /// Reduces a value over replicas, and first over `axes` of each tensor if there are any, to a
    /// plain value.
    pub fn reduce(&self, op: Op, value: &Value, axes: &[i32]) -> Result<Value> {
        let (axes, count) = (axes.as_ptr(), axes.len());
        // Safety: handles of ours, and an array for its length.
        make(|out, error| unsafe {
            sys::mdist_strategy_reduce_axes(
                self.raw(),
                op.raw(),
                value.raw(),
                axes,
                count,
                out,
                ptr::null(),
                error,
            )
        })
        .map(Value::own)
    }

    /// Reduces a per-replica value to one device ("cpu:1": a plain value), or with `None` to all
    /// that it came from (a mirrored value).
    pub fn reduce_to(&self, op: Op, value: &Value, destination: Option<&str>) -> Result<Value> {
        let mut reduced = self.batch_reduce_to(op, &[value], &[destination])?;
        Ok(reduced.remove(0))
    }

    /// Many [`reduce_to`](Strategy::reduce_to) in one operation: `destinations[i]` is that of
    /// `values[i]`; without any, all go to the devices they came from. All or none.
    pub fn batch_reduce_to(
        &self,
        op: Op,
        values: &[&Value],
        destinations: &[Option<&str>],
    ) -> Result<Vec<Value>> {
        let operation = "mdist_strategy_reduce_to";
        if !destinations.is_empty() && destinations.len() != values.len() {
            let (values, destinations) = (values.len(), destinations.len());
            let sentence = format!(
                "{values} values and {destinations} destinations; pass one destination per value"
            );
            return Err(Error::invalid(operation, sentence));
        }
        let names = destinations
            .iter()
            .map(|name| c_string(name.unwrap_or(""), operation));
        let names = names.collect::<Result<Vec<_>>>()?;
        let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let names = if names.is_empty() {
            ptr::null()
        } else {
            names.as_ptr()
        };
        let handles: Vec<_> = values.iter().map(|value| value.raw()).collect();
        let mut reduced = vec![ptr::null_mut(); values.len()];
        // Safety: handles of ours, and as many texts that outlive the call, or none.
        call(|error| unsafe {
            sys::mdist_strategy_reduce_to(
                self.raw(),
                op.raw(),
                handles.as_ptr(),
                names,
                handles.len(),
                reduced.as_mut_ptr(),
                ptr::null(),
                error,
            )
        })?;
        Ok(reduced.into_iter().map(Value::own).collect())
    }

    /// Reduces the buffers of all local replicas in one call, in place: all buffers of a replica, then
    /// those of the next.
    pub fn all_reduce<B: BuffersMut + ?Sized>(
        &self,
        op: impl Into<Op>,
        buffers: &mut B,
    ) -> Result<()> {
        let (op, replicas) = (op.into(), self.local_replica_count() as usize);
        buffers.with(|raw| {
            if raw.len() % replicas != 0 {
                let sentence = format!(
                    "{} buffers of {replicas} local replicas; pass as many of each",
                    raw.len()
                );
                return Err(Error::invalid("mdist_strategy_all_reduce", sentence));
            }
            let (buffers, count) = (raw.as_ptr(), raw.len() / replicas);
            // Safety: exclusive borrows for as long as the call; in place.
            call(|error| unsafe {
                let (strategy, none) = (self.raw(), ptr::null());
                sys::mdist_strategy_all_reduce(
                    strategy,
                    op.raw(),
                    buffers,
                    buffers,
                    count,
                    none,
                    error,
                )
            })
        })
    }

    /// Joins the replicas' tensors along `axis` in replica order, to a plain value.
    pub fn gather(&self, value: &Value, axis: i32) -> Result<Value> {
        // Safety: handles of ours.
        make(|out, error| unsafe {
            sys::mdist_strategy_gather(self.raw(), value.raw(), axis, out, ptr::null(), error)
        })
        .map(Value::own)
    }

    /// Cuts each batch of `source` over the replicas. The result can be iterated, not transformed
    /// further.
    pub fn distribute_dataset(&self, source: &Dataset) -> Result<Dataset> {
        source.derive(|from, out, error| unsafe {
            // Safety: handles of ours.
            sys::mdist_distribute_dataset(self.raw(), from, out, ptr::null(), error)
        })
    }
}

impl Drop for Strategy {
    fn drop(&mut self) {
        // Safety: ours. Runs borrow the strategy, so none is under way on another thread.
        unsafe { sys::mdist_strategy_destroy(self.raw()) }
    }
}

/// A strategy that somebody else owns, for as long as they lend it: what a merge is given.
pub(crate) struct Lent(ManuallyDrop<Strategy>);

impl Lent {
    /// NULL is no strategy; the library gives none.
    pub fn new(handle: *mut sys::mdist_strategy) -> Option<Lent> {
        NonNull::new(handle).map(|raw| {
            let named = Names::default();
            Lent(ManuallyDrop::new(Strategy {
                raw,
                named,
                blobs: Arc::default(),
            }))
        })
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Safety: what is this object's own, once. The handle is not.
        unsafe {
            ptr::drop_in_place(&mut self.0.named);
            ptr::drop_in_place(&mut self.0.blobs);
        }
    }
}

impl Deref for Lent {
    type Target = Strategy;

    fn deref(&self) -> &Strategy {
        &self.0
    }
}
