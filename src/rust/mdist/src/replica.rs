// SPDX-License-Identifier: Apache-2.0
//! Replica: what a step knows, and what replicas do together.
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::time::Duration;

use mdist_sys as sys;

use crate::buffer::{Buffers, BuffersMut};
use crate::error::{call, Error, Result};
use crate::group::Group;
use crate::run::{Run, Shared};
use crate::strategy::Op;
use crate::tensor::{raw_tensor, Tensor};
use crate::Dtype;

/// A timeout of C's options, where 0 would be the strategy's.
pub(crate) fn limit_of(timeout: Duration) -> u64 {
    let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    timeout.clamp(1, sys::MDIST_FOREVER)
}

/// A replica inside its step. It stays on the step's thread and ends with it: it is neither `Send`
/// nor `Sync`, and only ever lent.
///
/// Every replica makes the same collective calls in the same order; a difference is an error on all
/// of them.
pub struct Replica<'run> {
    handle: NonNull<sys::mdist_replica>, /* a pointer: neither Send nor Sync, as @thread replica
                                          * demands */
    shared: &'run Shared,
    options: Option<sys::mdist_call_options>, // of its collectives
    group: PhantomData<&'run Group>,
}

impl<'run> Replica<'run> {
    pub(crate) fn new(
        handle: *mut sys::mdist_replica,
        shared: &'run Shared,
    ) -> Result<Replica<'run>> {
        match NonNull::new(handle) {
            Some(handle) => Ok(Replica {
                handle,
                shared,
                options: None,
                group: PhantomData,
            }),
            None => Err(Error::invalid(
                "mdist_run",
                "the step was called without a replica".to_string(),
            )),
        }
    }

    pub(crate) fn raw(&self) -> *mut sys::mdist_replica {
        self.handle.as_ptr()
    }

    pub(crate) fn shared(&self) -> &'run Shared {
        self.shared
    }

    /// This replica as a member of a group: its collectives are those of the group's members.
    pub fn in_group<'a>(&'a self, group: &'a Group) -> Replica<'a> {
        self.with_options(|options| options.group = group.raw())
    }

    /// This replica with a timeout for each wait for others in its collectives.
    pub fn with_timeout(&self, timeout: Duration) -> Replica<'_> {
        self.with_options(|options| options.timeout_ns = limit_of(timeout))
    }

    fn with_options(&self, set: impl FnOnce(&mut sys::mdist_call_options)) -> Replica<'_> {
        let mut options = self.options.unwrap_or_else(|| Run::new().options());
        set(&mut options);
        Replica {
            handle: self.handle,
            shared: self.shared,
            options: Some(options),
            group: PhantomData,
        }
    }

    /// For C, as long as self is borrowed.
    pub(crate) fn options(&self) -> *const sys::mdist_call_options {
        self.options
            .as_ref()
            .map_or(ptr::null(), |options| options as *const _)
    }

    /// Replicas that take part in its collectives.
    fn members(&self) -> u32 {
        match self.options {
            // Safety: a handle that is borrowed as long as self.
            Some(options) if !options.group.is_null() => unsafe {
                sys::mdist_group_size(options.group)
            },
            _ => self.count(),
        }
    }

    /// Replica id, from 0 to `count() - 1` over the whole job.
    pub fn id(&self) -> u32 {
        // Safety: the handle lives as long as the step, and self no longer.
        unsafe { sys::mdist_replica_id(self.raw()) }
    }

    /// Index among this process's replicas.
    pub fn local_index(&self) -> u32 {
        // Safety: as above.
        unsafe { sys::mdist_replica_local_index(self.raw()) }
    }

    /// Replicas in the whole job.
    pub fn count(&self) -> u32 {
        // Safety: as above.
        unsafe { sys::mdist_replica_count(self.raw()) }
    }

    /// This replica's tensor of argument `index` of the run.
    pub fn argument(&self, index: usize) -> Result<Tensor<'_>> {
        let mut raw =
            raw_tensor::<u8>(Dtype::from_raw(sys::MDIST_DTYPE_NONE), ptr::null_mut(), &[]);
        // Safety: borrowed until the step returns, and self ends before; values never change.
        call(|error| unsafe {
            sys::mdist_replica_argument(self.raw(), index, ptr::null(), &mut raw, error)
        })?;
        Ok(unsafe { Tensor::from_raw(raw) })
    }

    /// Sets this replica's part of result `index` of the run to a copy of the tensor. The last call
    /// counts.
    pub fn set_result<'a>(&self, index: usize, tensor: impl Into<Tensor<'a>>) -> Result<()> {
        let tensor = tensor.into();
        // Safety: a readable tensor.
        call(|error| unsafe {
            sys::mdist_replica_set_result(self.raw(), index, ptr::null(), tensor.raw(), error)
        })
    }

    /// Reduces the replicas' buffers into everybody's: `replica.all_reduce(Op::Sum, &mut
    /// gradients)`.
    pub fn all_reduce<B: BuffersMut + ?Sized>(
        &self,
        op: impl Into<Op>,
        buffers: &mut B,
    ) -> Result<()> {
        let op = op.into();
        buffers.with(|raw| {
            let (buffers, count) = (raw.as_ptr(), raw.len());
            // Safety: exclusive borrows for as long as the call; in place.
            call(|error| unsafe {
                sys::mdist_all_reduce(
                    self.raw(),
                    op.raw(),
                    buffers,
                    buffers,
                    count,
                    self.options(),
                    error,
                )
            })
        })
    }

    /// Copies replica `root`'s buffers over those of all others.
    pub fn broadcast<B: BuffersMut + ?Sized>(&self, root: u32, buffers: &mut B) -> Result<()> {
        buffers.with(|raw| {
            // Safety: exclusive borrows for as long as the call.
            call(|error| unsafe {
                sys::mdist_broadcast(
                    self.raw(),
                    root,
                    raw.as_ptr(),
                    raw.len(),
                    self.options(),
                    error,
                )
            })
        })
    }

    /// Writes the replicas' inputs one after another into everybody's output, which is as long as
    /// all together.
    pub fn all_gather<I, O>(&self, inputs: &I, outputs: &mut O) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
    {
        self.exchange(
            "mdist_all_gather",
            inputs,
            outputs,
            |inputs, outputs, count, error| unsafe {
                // Safety: exchange's.
                sys::mdist_all_gather(self.raw(), inputs, outputs, count, self.options(), error)
            },
        )
    }

    /// Reduces, and each replica receives its own part only: the parts lie in the input in replica
    /// order, each as long as its replica's output.
    pub fn reduce_scatter<I, O>(&self, op: impl Into<Op>, inputs: &I, outputs: &mut O) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
    {
        let op = op.into();
        self.exchange(
            "mdist_reduce_scatter",
            inputs,
            outputs,
            |inputs, outputs, count, error| unsafe {
                // Safety: exchange's.
                sys::mdist_reduce_scatter(
                    self.raw(),
                    op.raw(),
                    inputs,
                    outputs,
                    count,
                    self.options(),
                    error,
                )
            },
        )
    }

    /// Cuts each input into as many equal parts as there are replicas; part j of replica i becomes
    /// part i of replica j.
    pub fn all_to_all<I, O>(&self, inputs: &I, outputs: &mut O) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
    {
        self.exchange(
            "mdist_all_to_all",
            inputs,
            outputs,
            |inputs, outputs, count, error| unsafe {
                // Safety: exchange's.
                sys::mdist_all_to_all(self.raw(), inputs, outputs, count, self.options(), error)
            },
        )
    }

    /// All-to-all with parts of any lengths, which lie end to end. `input_parts` has the elements that
    /// go to each replica, `output_parts` those that come from each, buffer by buffer. If a sender and
    /// a receiver do not agree, it is [`Status::Mismatch`](crate::Status::Mismatch) on all replicas.
    pub fn all_to_all_parts<I, O>(
        &self,
        inputs: &I,
        input_parts: &[u64],
        outputs: &mut O,
        output_parts: &[u64],
    ) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
    {
        let buffers = inputs.with(|inputs| inputs.len());
        self.check_parts("mdist_all_to_all_parts", buffers, input_parts, output_parts)?;
        let parts = (input_parts.as_ptr(), output_parts.as_ptr());
        self.exchange(
            "mdist_all_to_all_parts",
            inputs,
            outputs,
            |inputs, outputs, count, error| unsafe {
                // Safety: exchange's, and as many lengths as C reads.
                sys::mdist_all_to_all_parts(
                    self.raw(),
                    inputs,
                    parts.0,
                    outputs,
                    parts.1,
                    count,
                    self.options(),
                    error,
                )
            },
        )
    }

    /// C reads a length for each buffer and replica that takes part.
    pub(crate) fn check_parts(
        &self,
        operation: &str,
        buffers: usize,
        input_parts: &[u64],
        output_parts: &[u64],
    ) -> Result<()> {
        let expected = buffers * self.members() as usize;
        for parts in [input_parts, output_parts] {
            if parts.len() != expected {
                let sentence = format!(
                    "{} lengths of parts; pass {expected}, one for each buffer and replica that takes part",
                    parts.len()
                );
                return Err(Error::invalid(operation, sentence));
            }
        }
        Ok(())
    }

    /// Returns when every replica has called it.
    pub fn barrier(&self) -> Result<()> {
        // Safety: our handle.
        call(|error| unsafe { sys::mdist_barrier(self.raw(), self.options(), error) })
    }

    /// Hands on both sides' buffers, as many of the one as of the other, for as long as the call.
    pub(crate) fn exchange<I, O, C>(
        &self,
        operation: &str,
        inputs: &I,
        outputs: &mut O,
        make_call: C,
    ) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
        C: FnOnce(
            *const sys::mdist_buffer,
            *const sys::mdist_buffer,
            usize,
            *mut *mut sys::mdist_error,
        ) -> sys::mdist_status,
    {
        inputs.with(|inputs| {
            outputs.with(|outputs| {
                same_count(operation, inputs.len(), outputs.len())?;
                call(|error| make_call(inputs.as_ptr(), outputs.as_ptr(), inputs.len(), error))
            })
        })
    }
}

/// C takes one count for both arrays.
pub(crate) fn same_count(operation: &str, inputs: usize, outputs: usize) -> Result<()> {
    if inputs == outputs {
        return Ok(());
    }
    Err(Error::invalid(
        operation,
        format!("{inputs} inputs and {outputs} outputs; pass one output per input"),
    ))
}
