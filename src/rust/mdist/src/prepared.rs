// SPDX-License-Identifier: Apache-2.0
//! Prepared calls: collectives that are described once and run many times.
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::time::Duration;
use std::{mem, slice};

use mdist_sys as sys;

use crate::element::Element;
use crate::error::{call, make, Error, Result};
use crate::group::Group;
use crate::replica::{limit_of, same_count, Replica};
use crate::run::Run;
use crate::strategy::Op;
use crate::work::OwnedBuffers;
use crate::{Strategy, Work};

/// A collective of one local replica that is described once and runs many times. It owns its buffers,
/// so that nobody can move or free them: [`Prepared::buffer`] and [`Prepared::buffer_mut`] reach them between
/// runs.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut config = mdist::Config::new()?;
/// # config.set("devices", "cpu*2")?;
/// # let strategy = mdist::Strategy::new(&config)?;
/// # use mdist::{Op, Run};
/// let call = |local| strategy.prepare(local).all_reduce(Op::Sum, vec![1f32; 4]);
/// let mut calls = [call(0)?, call(1)?];
/// strategy.run_each(Run::new(), &mut calls, |replica, call| Ok(call.run(replica)?))?;
/// assert_eq!(calls[1].buffer::<f32>(0)?, [2.0; 4]);
/// # Ok(())
/// # }
/// ```
pub struct Prepared<B> {
    raw: NonNull<sys::mdist_prepared>,
    described: Vec<sys::mdist_buffer>, // inputs, then outputs
    buffers: Option<B>,                // there until into_buffers takes them
}

// Safety: the handle is for any thread, where a replica runs it for that replica's; the descriptions
// are of the buffers, which go along.
unsafe impl<B: Send> Send for Prepared<B> {}
unsafe impl<B: Sync> Sync for Prepared<B> {}

/// The collectives of one local replica, to be prepared. Each has the arguments of the [`Replica`]'s.
/// The calls keep what they need of the group and the operator, which may be dropped before them.
pub struct Preparation<'a> {
    strategy: &'a Strategy,
    local_replica: u32,
    members: u32, // that make the call
    options: sys::mdist_call_options,
    group: PhantomData<&'a Group>,
}

impl Strategy {
    /// Prepares collectives of a local replica.
    pub fn prepare(&self, local_replica: u32) -> Preparation<'_> {
        Preparation {
            strategy: self,
            local_replica,
            members: self.replica_count(),
            options: Run::new().options(),
            group: PhantomData,
        }
    }
}

pub(crate) fn description(
    kind: sys::mdist_collective_kind,
    op: sys::mdist_reduce_op,
    root: u32,
) -> sys::mdist_collective_description {
    sys::mdist_collective_description {
        struct_size: mem::size_of::<sys::mdist_collective_description>() as u32,
        kind,
        op,
        root,
        inputs: ptr::null(),
        outputs: ptr::null(),
        buffer_count: 0,
        input_parts: ptr::null(),
        output_parts: ptr::null(),
    }
}

/// Gives a description its buffers, as many on both sides. A broadcast has no outputs of its own, and
/// a barrier nothing.
pub(crate) fn filled(
    mut described: sys::mdist_collective_description,
    inputs: &[sys::mdist_buffer],
    outputs: &[sys::mdist_buffer],
) -> sys::mdist_collective_description {
    if inputs.is_empty() {
        return described;
    }
    described.inputs = inputs.as_ptr();
    if described.kind != sys::MDIST_COLLECTIVE_BROADCAST {
        described.outputs = outputs.as_ptr();
    }
    described.buffer_count = inputs.len();
    described
}

impl<'a> Preparation<'a> {
    /// Calls of a group's members, of which the local replica is one.
    pub fn in_group<'b>(&self, group: &'b Group) -> Preparation<'b>
    where
        'a: 'b,
    {
        self.with(group.size(), |options| options.group = group.raw())
    }

    /// Calls with a timeout for each wait for others.
    pub fn with_timeout(&self, timeout: Duration) -> Preparation<'a> {
        self.with(self.members, |options| {
            options.timeout_ns = limit_of(timeout)
        })
    }

    fn with<'b>(
        &self,
        members: u32,
        set: impl FnOnce(&mut sys::mdist_call_options),
    ) -> Preparation<'b>
    where
        'a: 'b,
    {
        let mut options = self.options;
        set(&mut options);
        Preparation {
            strategy: self.strategy,
            local_replica: self.local_replica,
            members,
            options,
            group: PhantomData,
        }
    }

    /// In place.
    pub fn all_reduce<B: OwnedBuffers>(
        &self,
        op: impl Into<Op>,
        buffers: B,
    ) -> Result<Prepared<B>> {
        self.in_place(
            description(sys::MDIST_COLLECTIVE_ALL_REDUCE, op.into().raw(), 0),
            buffers,
        )
    }

    pub fn broadcast<B: OwnedBuffers>(&self, root: u32, buffers: B) -> Result<Prepared<B>> {
        self.in_place(
            description(sys::MDIST_COLLECTIVE_BROADCAST, 0, root),
            buffers,
        )
    }

    pub fn all_gather<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        inputs: I,
        outputs: O,
    ) -> Result<Prepared<(I, O)>> {
        self.exchange(
            description(sys::MDIST_COLLECTIVE_ALL_GATHER, 0, 0),
            inputs,
            outputs,
        )
    }

    pub fn reduce_scatter<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        op: impl Into<Op>,
        inputs: I,
        outputs: O,
    ) -> Result<Prepared<(I, O)>> {
        let described = description(sys::MDIST_COLLECTIVE_REDUCE_SCATTER, op.into().raw(), 0);
        self.exchange(described, inputs, outputs)
    }

    pub fn all_to_all<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        inputs: I,
        outputs: O,
    ) -> Result<Prepared<(I, O)>> {
        self.exchange(
            description(sys::MDIST_COLLECTIVE_ALL_TO_ALL, 0, 0),
            inputs,
            outputs,
        )
    }

    pub fn all_to_all_parts<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        mut inputs: I,
        input_parts: &[u64],
        outputs: O,
        output_parts: &[u64],
    ) -> Result<Prepared<(I, O)>> {
        let mut given = Vec::new();
        inputs.describe(&mut given);
        let expected = given.len() * self.members as usize;
        if input_parts.len() != expected || output_parts.len() != expected {
            let sentence = format!(
                "{} and {} lengths of parts; pass {expected} each, one for each buffer and replica that takes part",
                input_parts.len(),
                output_parts.len()
            );
            return Err(Error::invalid("mdist_prepared_create", sentence));
        }
        let mut described = description(sys::MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, 0, 0);
        described.input_parts = input_parts.as_ptr();
        described.output_parts = output_parts.as_ptr();
        self.exchange(described, inputs, outputs)
    }

    /// In place.
    pub fn reduce_to_root<B: OwnedBuffers>(
        &self,
        op: impl Into<Op>,
        root: u32,
        buffers: B,
    ) -> Result<Prepared<B>> {
        let described = description(sys::MDIST_COLLECTIVE_REDUCE_TO_ROOT, op.into().raw(), root);
        self.in_place(described, buffers)
    }

    pub fn gather_to_root<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        root: u32,
        inputs: I,
        outputs: O,
    ) -> Result<Prepared<(I, O)>> {
        let described = description(sys::MDIST_COLLECTIVE_GATHER_TO_ROOT, 0, root);
        self.exchange(described, inputs, outputs)
    }

    pub fn scatter<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        root: u32,
        inputs: I,
        outputs: O,
    ) -> Result<Prepared<(I, O)>> {
        self.exchange(
            description(sys::MDIST_COLLECTIVE_SCATTER, 0, root),
            inputs,
            outputs,
        )
    }

    pub fn barrier(&self) -> Result<Prepared<()>> {
        self.in_place(description(sys::MDIST_COLLECTIVE_BARRIER, 0, 0), ())
    }

    fn in_place<B: OwnedBuffers>(
        &self,
        described: sys::mdist_collective_description,
        mut buffers: B,
    ) -> Result<Prepared<B>> {
        let mut raw = Vec::new();
        buffers.describe(&mut raw);
        self.create(filled(described, &raw, &raw), raw, buffers)
    }

    fn exchange<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        described: sys::mdist_collective_description,
        inputs: I,
        outputs: O,
    ) -> Result<Prepared<(I, O)>> {
        let mut buffers = (inputs, outputs);
        let mut raw = Vec::new();
        buffers.0.describe(&mut raw);
        let count = raw.len();
        buffers.1.describe(&mut raw);
        same_count("mdist_prepared_create", count, raw.len() - count)?;
        let (from, to) = raw.split_at(count);
        self.create(filled(described, from, to), raw, buffers)
    }

    fn create<B>(
        &self,
        described: sys::mdist_collective_description,
        raw: Vec<sys::mdist_buffer>,
        buffers: B,
    ) -> Result<Prepared<B>> {
        let (strategy, local) = (self.strategy.raw(), self.local_replica);
        // Safety: our handles; C copies all arrays, and the call that comes out owns the buffers.
        let call = make(|out, error| unsafe {
            sys::mdist_prepared_create(strategy, local, &described, out, &self.options, error)
        })?;
        Ok(Prepared {
            raw: NonNull::new(call).expect("a call that succeeds gives a call"),
            described: raw,
            buffers: Some(buffers),
        })
    }
}

impl<B> Prepared<B> {
    /// Makes the call, in a step of the local replica that it was prepared for.
    pub fn run(&mut self, replica: &Replica<'_>) -> Result<()> {
        // Safety: handles of ours, on the step's thread; nobody has a slice, since they borrow self.
        call(|error| unsafe { sys::mdist_prepared_run(replica.raw(), self.raw.as_ptr(), error) })
    }

    /// Starts it: `wait` gives the call back.
    pub fn start<'step>(self, replica: &'step Replica<'_>) -> Result<Work<'step, Prepared<B>>> {
        // Safety: the work that comes out owns the call, and so the buffers.
        let work = make(|out, error| unsafe {
            sys::mdist_prepared_start(replica.raw(), self.raw.as_ptr(), out, error)
        })?;
        Ok(Work::own(work, self))
    }

    /// Buffer `index`, to read: inputs come first, then outputs. In place they are the same.
    pub fn buffer<T: Element>(&self, index: usize) -> Result<&[T]> {
        let (data, len) = self.memory::<T>(index)?;
        // Safety: memory of the buffers, of this type; it is written by `&mut self` only.
        Ok(unsafe { slice::from_raw_parts(data, len) })
    }

    /// Buffer `index`, to write.
    pub fn buffer_mut<T: Element>(&mut self, index: usize) -> Result<&mut [T]> {
        let (data, len) = self.memory::<T>(index)?;
        // Safety: as above, and exclusively.
        Ok(unsafe { slice::from_raw_parts_mut(data, len) })
    }

    /// Ends the call, and gives its buffers back.
    pub fn into_buffers(mut self) -> B {
        self.buffers.take().expect("only this takes them")
    }

    fn memory<T: Element>(&self, index: usize) -> Result<(*mut T, usize)> {
        let of = self.described.get(index).ok_or_else(|| {
            let sentence = format!("buffer {index} of {}", self.described.len());
            Error::invalid("mdist_prepared_create", sentence)
        })?;
        if of.dtype != T::dtype().raw() {
            let sentence = format!("buffer {index} has other elements than {}", T::dtype());
            return Err(Error::invalid("mdist_prepared_create", sentence));
        }
        let data = of.data.cast::<T>(); // an empty Vec's is dangling, and aligned
        Ok((data, of.elements as usize))
    }
}

impl<B> Drop for Prepared<B> {
    fn drop(&mut self) {
        // Safety: ours. What it has started is over, since the work owned it; the buffers go afterwards.
        unsafe { sys::mdist_prepared_destroy(self.raw.as_ptr()) }
    }
}
