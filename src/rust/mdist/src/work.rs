// SPDX-License-Identifier: Apache-2.0
//! Work: a collective under way. It owns its buffers, so that nobody can touch or free them before
//! it is done, not even by leaking it.
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::os::unix::io::{FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::time::Duration;

use mdist_sys as sys;

use crate::buffer::raw_buffer;
use crate::cause::catch;
use crate::element::Element;
use crate::error::{call, make, Result, Status};
use crate::prepared::{description, filled};
use crate::replica::{same_count, Replica};
use crate::strategy::Op;
use crate::Memory;

mod sealed {
    /// # Safety
    /// What is described must stay where it is when self moves, be alive as long as self is, also
    /// when that is leaked, and be nobody else's.
    pub unsafe trait Owned {
        fn describe(&mut self, out: &mut Vec<mdist_sys::mdist_buffer>);
    }
}
use sealed::Owned;

/// Buffers that a started collective can own: a `Vec` or a [`Memory`], or a tuple or `Vec` of such,
/// one fused operation.
pub trait OwnedBuffers: Owned {}

// Safety: memory on the heap that moves with nobody.
unsafe impl<T: Element> Owned for Vec<T> {
    fn describe(&mut self, out: &mut Vec<sys::mdist_buffer>) {
        out.push(raw_buffer(self.as_mut_ptr(), self.len()));
    }
}
unsafe impl<T: Element> Owned for Memory<T> {
    fn describe(&mut self, out: &mut Vec<sys::mdist_buffer>) {
        out.push(raw_buffer(self.as_mut_ptr(), self.len()));
    }
}
unsafe impl<T: Element> Owned for Vec<Vec<T>> {
    fn describe(&mut self, out: &mut Vec<sys::mdist_buffer>) {
        self.iter_mut().for_each(|each| each.describe(out));
    }
}
unsafe impl<T: Element> Owned for Vec<Memory<T>> {
    fn describe(&mut self, out: &mut Vec<sys::mdist_buffer>) {
        self.iter_mut().for_each(|each| each.describe(out));
    }
}
unsafe impl Owned for () {
    fn describe(&mut self, _out: &mut Vec<sys::mdist_buffer>) {}
}
unsafe impl<A: Owned, B: Owned> Owned for (A, B) {
    fn describe(&mut self, out: &mut Vec<sys::mdist_buffer>) {
        self.0.describe(out);
        self.1.describe(out);
    }
}
unsafe impl<A: Owned, B: Owned, C: Owned> Owned for (A, B, C) {
    fn describe(&mut self, out: &mut Vec<sys::mdist_buffer>) {
        self.0.describe(out);
        self.1.describe(out);
        self.2.describe(out);
    }
}
impl<B: Owned> OwnedBuffers for B {}

/// A collective under way on this replica. It moves on inside calls of the replicas that take part:
/// [`Work::test`] it between pieces of other work, then [`Work::wait`]. Dropped before it is done,
/// it is finished if all replicas have come, else given up, which fails the run.
pub struct Work<'step, B> {
    raw: NonNull<sys::mdist_work>, // a pointer: neither Send nor Sync, as the replica
    buffers: Option<B>,            // there until wait hands them back
    replica: PhantomData<&'step Replica<'step>>,
}

impl<B> Work<'_, B> {
    /// Moves it on without waiting for others, and says whether it is done.
    pub fn test(&mut self) -> Result<bool> {
        let mut done = 0;
        // Safety: our handle, on the replica's thread.
        call(|error| unsafe { sys::mdist_work_test(self.raw.as_ptr(), &mut done, error) })?;
        Ok(done != 0)
    }

    /// Waits until it is done, or for this long at most, and says whether it is done.
    pub fn wait_for(&mut self, limit: Duration) -> Result<bool> {
        self.wait_ns(
            u64::try_from(limit.as_nanos())
                .unwrap_or(sys::MDIST_FOREVER)
                .min(sys::MDIST_FOREVER),
        )
    }

    /// Waits until it is done, and gives the buffers back.
    pub fn wait(mut self) -> Result<B> {
        while !self.wait_ns(sys::MDIST_FOREVER)? {}
        Ok(self.buffers.take().expect("only wait takes them"))
    }

    /// Calls `function` once when the operation is over: with `Ok`, or with the status of the error
    /// that [`test`](Work::test) gives from then on. That is at once if it is over already, else on any
    /// thread, before the step of its replica has ended. The function must not wait. A panic in it has
    /// no effect but its message.
    pub fn on_done<F>(&self, function: F) -> Result<()>
    where
        F: FnOnce(std::result::Result<(), Status>) + Send + 'static,
    {
        let kept = Box::into_raw(Box::new(function));
        // Safety: our handle; C calls the function exactly once, unless this call fails.
        let done = call(|error| unsafe {
            sys::mdist_work_on_done(self.raw.as_ptr(), Some(done_of::<F>), kept.cast(), error)
        });
        if done.is_err() {
            // Safety: nobody else will use it.
            drop(unsafe { Box::from_raw(kept) });
        }
        done
    }

    /// A descriptor for poll and its kin, in an event loop: [`test`](Work::test) whenever it is
    /// readable, and go on polling if that says false. Never read from it.
    pub fn descriptor(&self) -> Result<OwnedFd> {
        let mut descriptor = -1;
        // Safety: our handle; the descriptor that comes out is new, and ours.
        call(|error| unsafe {
            sys::mdist_work_descriptor(self.raw.as_ptr(), &mut descriptor, error)
        })?;
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }

    fn wait_ns(&mut self, limit: u64) -> Result<bool> {
        let mut done = 0;
        // Safety: our handle, on the replica's thread.
        call(|error| unsafe { sys::mdist_work_wait(self.raw.as_ptr(), limit, &mut done, error) })?;
        Ok(done != 0)
    }
}

/// An mdist_work_done_fn around the closure in `user_data`, which it takes.
unsafe extern "C" fn done_of<F>(status: sys::mdist_status, user_data: *mut c_void)
where
    F: FnOnce(std::result::Result<(), Status>) + Send + 'static,
{
    let function = Box::from_raw(user_data.cast::<F>());
    let end = if status == sys::MDIST_OK {
        Ok(())
    } else {
        Err(Status::from_raw(status))
    };
    let _ = catch(|| {
        function(end);
        Ok(())
    });
}

impl<B> Drop for Work<'_, B> {
    fn drop(&mut self) {
        // Safety: ours; afterwards the buffers are nobody's but ours again, and are dropped.
        unsafe { sys::mdist_work_destroy(self.raw.as_ptr()) }
    }
}

const START: &str = "mdist_collective_start";

/// The descriptions of both sides' buffers, and what the library is to be called with.
pub(crate) type Sides<'a> = (&'a [sys::mdist_buffer], &'a [sys::mdist_buffer]);

impl Replica<'_> {
    /// [`Replica::all_reduce`], started: `wait` gives the buffers back, reduced.
    pub fn all_reduce_start<B: OwnedBuffers>(
        &self,
        op: impl Into<Op>,
        buffers: B,
    ) -> Result<Work<'_, B>> {
        let described = description(sys::MDIST_COLLECTIVE_ALL_REDUCE, op.into().raw(), 0);
        self.start_collective_in_place(described, buffers)
    }

    /// [`Replica::broadcast`], started.
    pub fn broadcast_start<B: OwnedBuffers>(&self, root: u32, buffers: B) -> Result<Work<'_, B>> {
        let described = description(sys::MDIST_COLLECTIVE_BROADCAST, 0, root);
        self.start_collective_in_place(described, buffers)
    }

    /// [`Replica::all_gather`], started: `wait` gives inputs and outputs back.
    pub fn all_gather_start<I, O>(&self, inputs: I, outputs: O) -> Result<Work<'_, (I, O)>>
    where
        I: OwnedBuffers,
        O: OwnedBuffers,
    {
        let described = description(sys::MDIST_COLLECTIVE_ALL_GATHER, 0, 0);
        self.start_collective(described, inputs, outputs)
    }

    /// [`Replica::reduce_scatter`], started.
    pub fn reduce_scatter_start<I, O>(
        &self,
        op: impl Into<Op>,
        inputs: I,
        outputs: O,
    ) -> Result<Work<'_, (I, O)>>
    where
        I: OwnedBuffers,
        O: OwnedBuffers,
    {
        let described = description(sys::MDIST_COLLECTIVE_REDUCE_SCATTER, op.into().raw(), 0);
        self.start_collective(described, inputs, outputs)
    }

    /// [`Replica::all_to_all`], started.
    pub fn all_to_all_start<I, O>(&self, inputs: I, outputs: O) -> Result<Work<'_, (I, O)>>
    where
        I: OwnedBuffers,
        O: OwnedBuffers,
    {
        let described = description(sys::MDIST_COLLECTIVE_ALL_TO_ALL, 0, 0);
        self.start_collective(described, inputs, outputs)
    }

    /// [`Replica::all_to_all_parts`], started.
    pub fn all_to_all_parts_start<I, O>(
        &self,
        mut inputs: I,
        input_parts: &[u64],
        outputs: O,
        output_parts: &[u64],
    ) -> Result<Work<'_, (I, O)>>
    where
        I: OwnedBuffers,
        O: OwnedBuffers,
    {
        let mut buffers = Vec::new();
        inputs.describe(&mut buffers);
        self.check_parts(START, buffers.len(), input_parts, output_parts)?;
        // As many lengths as C reads, and copies.
        let mut described = description(sys::MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, 0, 0);
        described.input_parts = input_parts.as_ptr();
        described.output_parts = output_parts.as_ptr();
        self.start_collective(described, inputs, outputs)
    }

    /// [`Replica::barrier`], started.
    pub fn barrier_start(&self) -> Result<Work<'_, ()>> {
        self.start_collective_in_place(description(sys::MDIST_COLLECTIVE_BARRIER, 0, 0), ())
    }

    pub(crate) fn start_collective_in_place<B: OwnedBuffers>(
        &self,
        described: sys::mdist_collective_description,
        buffers: B,
    ) -> Result<Work<'_, B>> {
        self.start_in_place(buffers, |raw, out, error| {
            let collective = filled(described, raw, raw);
            // Safety, here and below: the work that comes out owns the buffers.
            unsafe {
                sys::mdist_collective_start(self.raw(), &collective, out, self.options(), error)
            }
        })
    }

    pub(crate) fn start_collective<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        described: sys::mdist_collective_description,
        inputs: I,
        outputs: O,
    ) -> Result<Work<'_, (I, O)>> {
        self.start(START, inputs, outputs, |(inputs, outputs), out, error| {
            let collective = filled(described, inputs, outputs);
            unsafe {
                sys::mdist_collective_start(self.raw(), &collective, out, self.options(), error)
            }
        })
    }

    pub(crate) fn start_in_place<B: OwnedBuffers>(
        &self,
        mut buffers: B,
        start: impl FnOnce(
            &[sys::mdist_buffer],
            *mut *mut sys::mdist_work,
            *mut *mut sys::mdist_error,
        ) -> i32,
    ) -> Result<Work<'_, B>> {
        let mut raw = Vec::new();
        buffers.describe(&mut raw);
        let work = make(|out, error| start(&raw, out, error))?;
        Ok(Work::own(work, buffers))
    }

    pub(crate) fn start<I: OwnedBuffers, O: OwnedBuffers>(
        &self,
        operation: &str,
        inputs: I,
        outputs: O,
        start: impl FnOnce(Sides<'_>, *mut *mut sys::mdist_work, *mut *mut sys::mdist_error) -> i32,
    ) -> Result<Work<'_, (I, O)>> {
        let mut buffers = (inputs, outputs);
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        buffers.0.describe(&mut inputs);
        buffers.1.describe(&mut outputs);
        same_count(operation, inputs.len(), outputs.len())?;
        let work = make(|out, error| start((&inputs, &outputs), out, error))?;
        Ok(Work::own(work, buffers))
    }
}

impl<B> Work<'_, B> {
    pub(crate) fn own(raw: *mut sys::mdist_work, buffers: B) -> Self {
        let raw = NonNull::new(raw).expect("a call that succeeds gives a work");
        Work {
            raw,
            buffers: Some(buffers),
            replica: PhantomData,
        }
    }
}
