// SPDX-License-Identifier: Apache-2.0
//! Collectives with a root: what only one replica gets, or gives. What the others bring on that
//! side is not looked at: an empty slice or vector does.

use mdist_sys as sys;

use crate::buffer::{Buffers, BuffersMut};
use crate::error::{call, Result};
use crate::prepared::description;
use crate::replica::Replica;
use crate::strategy::Op;
use crate::work::OwnedBuffers;
use crate::Work;

impl Replica<'_> {
    /// Reduces the replicas' buffers into those of replica `root`; the others' stay as they are.
    pub fn reduce_to_root<B: BuffersMut + ?Sized>(
        &self,
        op: impl Into<Op>,
        root: u32,
        buffers: &mut B,
    ) -> Result<()> {
        buffers.with(|raw| {
            let (buffers, count) = (raw.as_ptr(), raw.len());
            // Safety: exclusive borrows for as long as the call; in place.
            call(|error| unsafe {
                sys::mdist_reduce_to_root(
                    self.raw(),
                    op.into().raw(),
                    root,
                    buffers,
                    buffers,
                    count,
                    self.options(),
                    error,
                )
            })
        })
    }

    /// [`Replica::all_gather`] with outputs of replica `root` alone.
    pub fn gather_to_root<I, O>(&self, root: u32, inputs: &I, outputs: &mut O) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
    {
        self.exchange(
            "mdist_gather_to_root",
            inputs,
            outputs,
            |inputs, outputs, count, error| unsafe {
                // Safety: exchange's.
                let options = self.options();
                sys::mdist_gather_to_root(self.raw(), root, inputs, outputs, count, options, error)
            },
        )
    }

    /// Gives each replica its part of the inputs of replica `root`. The parts lie there in replica
    /// order, each as long as its replica's output.
    pub fn scatter<I, O>(&self, root: u32, inputs: &I, outputs: &mut O) -> Result<()>
    where
        I: Buffers + ?Sized,
        O: BuffersMut + ?Sized,
    {
        self.exchange(
            "mdist_scatter",
            inputs,
            outputs,
            |inputs, outputs, count, error| unsafe {
                // Safety: exchange's.
                sys::mdist_scatter(
                    self.raw(),
                    root,
                    inputs,
                    outputs,
                    count,
                    self.options(),
                    error,
                )
            },
        )
    }

    /// [`Replica::reduce_to_root`], started.
    pub fn reduce_to_root_start<B: OwnedBuffers>(
        &self,
        op: impl Into<Op>,
        root: u32,
        buffers: B,
    ) -> Result<Work<'_, B>> {
        let described = description(sys::MDIST_COLLECTIVE_REDUCE_TO_ROOT, op.into().raw(), root);
        self.start_collective_in_place(described, buffers)
    }

    /// [`Replica::gather_to_root`], started: `wait` gives inputs and outputs back.
    pub fn gather_to_root_start<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        root: u32,
        inputs: I,
        outputs: O,
    ) -> Result<Work<'_, (I, O)>> {
        let described = description(sys::MDIST_COLLECTIVE_GATHER_TO_ROOT, 0, root);
        self.start_collective(described, inputs, outputs)
    }

    /// [`Replica::scatter`], started: `wait` gives inputs and outputs back.
    pub fn scatter_start<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        root: u32,
        inputs: I,
        outputs: O,
    ) -> Result<Work<'_, (I, O)>> {
        let described = description(sys::MDIST_COLLECTIVE_SCATTER, 0, root);
        self.start_collective(described, inputs, outputs)
    }
}
