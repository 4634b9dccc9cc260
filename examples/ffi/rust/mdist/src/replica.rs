// SPDX-License-Identifier: Apache-2.0
//! Replica: what a step knows, and what replicas do together.
use std::ptr::{self, NonNull};

use mdist_sys as sys;

use crate::buffer::{Buffers, BuffersMut};
use crate::error::{call, Error, Result};
use crate::run::Shared;
use crate::strategy::Op;
use crate::tensor::{raw_tensor, Tensor};
use crate::Dtype;

/// A replica inside its step. It stays on the step's thread and ends with it: it is neither `Send`
/// nor `Sync`, and only ever lent.
///
/// Every replica makes the same collective calls in the same order; a difference is an error on all
/// of them.
pub struct Replica<'run> {
    handle: NonNull<sys::mdist_replica>, /* a pointer: neither Send nor Sync, as @thread replica
                                          * demands */
    shared: &'run Shared,
}

impl<'run> Replica<'run> {
    pub(crate) fn new(
        handle: *mut sys::mdist_replica,
        shared: &'run Shared,
    ) -> Result<Replica<'run>> {
        match NonNull::new(handle) {
            Some(handle) => Ok(Replica { handle, shared }),
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
        call(|error| unsafe { sys::mdist_replica_argument(self.raw(), index, ptr::null(), &mut raw, error) })?;
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
    pub fn all_reduce<B: BuffersMut + ?Sized>(&self, op: Op, buffers: &mut B) -> Result<()> {
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
                    ptr::null(),
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
                    ptr::null(),
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
                sys::mdist_all_gather(self.raw(), inputs, outputs, count, ptr::null(), error)
            },
        )
    }

    /// Reduces, and each replica receives its own part only: the parts lie in the input in replica
    /// order, each as long as its replica's output.
    pub fn reduce_scatter<I, O>(&self, op: Op, inputs: &I, outputs: &mut O) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
    {
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
                    ptr::null(),
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
                sys::mdist_all_to_all(self.raw(), inputs, outputs, count, ptr::null(), error)
            },
        )
    }

    /// Returns when every replica has called it.
    pub fn barrier(&self) -> Result<()> {
        // Safety: our handle.
        call(|error| unsafe { sys::mdist_barrier(self.raw(), ptr::null(), error) })
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
