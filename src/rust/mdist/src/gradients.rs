// SPDX-License-Identifier: Apache-2.0
//! Gradients: reduced in buckets while the step still computes; clipped, checked and accumulated.
use std::any::Any;
use std::mem::{self, ManuallyDrop};
use std::os::raw::c_void;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use mdist_sys as sys;

use crate::element::Element;
use crate::error::{call, make, Error, Result, Status};
use crate::options::options;
use crate::replica::Replica;
use crate::tensor::{self, raw_tensor, TensorMut};
use crate::work::OwnedBuffers;
use crate::{Dtype, Op, Strategy, Variable};

/// Type and shape of one gradient.
#[derive(Clone, Debug)]
pub struct Like(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Described(Dtype, Vec<usize>),
    Variable(Variable),
}

impl Like {
    /// A gradient of this shape; a scalar's is `&[]`.
    pub fn new<T: Element>(shape: &[usize]) -> Like {
        Like(Kind::Described(T::DTYPE, shape.to_vec()))
    }

    fn raw(&self) -> Result<sys::mdist_tensor> {
        match &self.0 {
            Kind::Variable(variable) => variable.describe(0),
            Kind::Described(_, shape) if shape.len() > sys::MDIST_MAX_RANK as usize => {
                let sentence = format!("{shape:?} has {} dimensions; 8 are the most", shape.len());
                Err(Error::invalid("mdist_gradients_create", sentence))
            }
            Kind::Described(dtype, shape) => Ok(raw_tensor::<u8>(*dtype, ptr::null_mut(), shape)),
        }
    }
}

/// A gradient like a variable. Messages name it after the variable.
impl From<&Variable> for Like {
    fn from(variable: &Variable) -> Like {
        Like(Kind::Variable(variable.clone()))
    }
}

options! {
    /// The same on all workers. By default: a sum, buckets of 4 MiB, the norm, no clipping.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GradientsOptions {
        /// Over replicas and rounds: [`Op::Sum`] (with [`Replica::average_loss`]) or [`Op::Mean`].
        op: Op = Op::Sum,
        /// A bucket takes gradients until it has this many bytes; 0: 4 MiB.
        bucket_bytes: u64 = 0,
        /// Clips by global norm; 0 disables clipping.
        clip_norm: f64 = 0.0,
        /// Gradients that are not ready by the wait count as zeros, not as an error.
        zero_missing: bool = false,
        /// If the norm is not finite, all gradients become zeros.
        zero_nonfinite: bool = false,
        /// Whether to compute the norm (the default). Without it each replica reads its share of
        /// the memory once less.
        norm: bool = true,
    }
}

impl GradientsOptions {
    fn raw(&self) -> sys::mdist_gradients_options {
        let flag = |set: bool, flag: sys::mdist_gradients_flags| if set { flag as u32 } else { 0 };
        sys::mdist_gradients_options {
            struct_size: mem::size_of::<sys::mdist_gradients_options>() as u32,
            flags: flag(self.zero_missing, sys::MDIST_GRADIENTS_ZERO_MISSING)
                | flag(self.zero_nonfinite, sys::MDIST_GRADIENTS_ZERO_NONFINITE)
                | flag(!self.norm, sys::MDIST_GRADIENTS_NO_NORM),
            op: self.op.raw(),
            reserved: 0,
            bucket_bytes: self.bucket_bytes,
            clip_norm: self.clip_norm,
        }
    }
}

/// What a round came to. The same on all replicas.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reduced {
    /// Before clipping.
    pub norm: f64,
    /// If not, skip this step's update.
    pub finite: bool,
}

/// The gradients of a model, in memory of the library. A step reaches its own by
/// [`Replica::gradients`].
pub struct Gradients {
    raw: NonNull<sys::mdist_gradients>,
    count: usize,
    slots: Box<[Mutex<Slot>]>, // by local replica; in an elastic job a worker may come to have all
    lent: ManuallyDrop<Vec<Lent>>, // by local replica, if the program lends the memory
}

/// Memory that the library uses: nobody can reach it, but by a replica's gradients.
type Lent = Box<dyn Any + Send + Sync>;

/// Whose a local replica's memory is. What is ready belongs to the library until the wait, or if
/// that never comes until the run is over.
#[derive(Default)]
struct Slot {
    held: bool,
    run: Weak<()>,
    ready: Vec<bool>,
}

// Safety: functions of gradients are for any thread, or for a replica's own; the memory is guarded
// by the slots.
unsafe impl Send for Gradients {}
unsafe impl Sync for Gradients {}

impl Drop for Gradients {
    fn drop(&mut self) {
        // Safety: ours. Memory that a step still uses stays until that step ends, says C.
        unsafe { sys::mdist_gradients_destroy(self.raw.as_ptr()) }
        let in_round = |slot: &Mutex<Slot>| {
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.run.strong_count() != 0 && slot.ready.contains(&true)
        };
        // Memory that is lent stays until that step ends, too, which nobody tells us: it is leaked.
        if !self.slots.iter().any(in_round) {
            // Safety: the library has let go of it.
            unsafe { ManuallyDrop::drop(&mut self.lent) }
        }
    }
}

impl Strategy {
    /// Allocates memory for gradients like these on each local replica, filled with zeros. Number
    /// them in the order of the forward pass: then the all-reduces overlap best with the backward
    /// pass.
    pub fn gradients(&self, like: &[Like], options: GradientsOptions) -> Result<Gradients> {
        let described = like.iter().map(Like::raw).collect::<Result<Vec<_>>>()?;
        let options = options.raw();
        // Safety: descriptions whose data is not read.
        let raw = make(|out, error| unsafe {
            sys::mdist_gradients_create(
                self.raw(),
                described.as_ptr(),
                described.len(),
                out,
                &options,
                error,
            )
        })?;
        let slots = (0..self.replica_count()).map(|_| Mutex::default());
        Ok(Gradients {
            raw: NonNull::new(raw).expect("a call that succeeds gives gradients"),
            count: like.len(),
            slots: slots.collect(),
            lent: ManuallyDrop::default(),
        })
    }

    /// Gradients in memory of the program's own, which is reduced where it lies: for each local replica
    /// one `Vec` or [`Memory`](crate::Memory), or a tuple or `Vec` of such. Each is one gradient, of one
    /// dimension. [`ReplicaGradients`] reaches them as usual.
    pub fn gradients_lent<B>(&self, arrays: Vec<B>, options: GradientsOptions) -> Result<Gradients>
    where
        B: OwnedBuffers + Send + Sync + 'static,
    {
        let operation = "mdist_gradients_create_lent";
        let mut arrays = arrays;
        let described: Vec<_> = arrays.iter_mut().map(describe_lent).collect();
        let count = described.first().map_or(0, Vec::len);
        let replicas = self.local_replica_count();
        if described.len() != replicas as usize || described.iter().any(|one| one.len() != count) {
            let sentence = format!(
                "{} lists of gradients for {replicas} local replicas; pass one for each, of equal lengths",
                described.len()
            );
            return Err(Error::invalid(operation, sentence));
        }
        let tensors: Vec<_> = described.into_iter().flatten().collect();
        let options = options.raw();
        // Safety: memory that is kept below, and that nobody reaches but by a replica's gradients.
        let raw = make(|out, error| unsafe {
            let (strategy, tensors) = (self.raw(), tensors.as_ptr());
            sys::mdist_gradients_create_lent(strategy, tensors, count, out, &options, error)
        })?;
        let slots = (0..self.replica_count()).map(|_| Mutex::default());
        let lent = arrays.into_iter().map(|one| Box::new(one) as Lent);
        Ok(Gradients {
            raw: NonNull::new(raw).expect("a call that succeeds gives gradients"),
            count,
            slots: slots.collect(),
            lent: ManuallyDrop::new(lent.collect()),
        })
    }
}

/// Each buffer as a tensor of one dimension.
fn describe_lent<B: OwnedBuffers>(arrays: &mut B) -> Vec<sys::mdist_tensor> {
    let mut buffers = Vec::new();
    arrays.describe(&mut buffers);
    let tensor = |buffer: &sys::mdist_buffer| {
        let dtype = Dtype::from_raw(buffer.dtype as sys::mdist_dtype);
        raw_tensor(dtype, buffer.data.cast::<u8>(), &[buffer.elements as usize])
    };
    buffers.iter().map(tensor).collect()
}

impl Gradients {
    /// How many gradients there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Says where all gradients of a local replica lie from its next round on. They are as many as
    /// before, of the same types and lengths.
    pub fn lend<B>(&mut self, local_replica: u32, mut arrays: B) -> Result<()>
    where
        B: OwnedBuffers + Send + Sync + 'static,
    {
        let tensors = describe_lent(&mut arrays);
        // Safety: memory that is kept below. C refuses it within a round of the replica.
        call(|error| unsafe {
            let (raw, tensors, count) = (self.raw.as_ptr(), tensors.as_ptr(), tensors.len());
            sys::mdist_gradients_lend(raw, local_replica, tensors, count, error)
        })?;
        let place = local_replica as usize;
        if self.lent.len() <= place {
            self.lent.resize_with(place + 1, || Box::new(())); // of replicas that came with a regroup
        }
        self.lent[place] = Box::new(arrays);
        Ok(())
    }

    fn slot(&self, local_replica: u32) -> Result<MutexGuard<'_, Slot>> {
        let slot = self.slots.get(local_replica as usize).ok_or_else(|| {
            let sentence = format!(
                "the gradients are of {} local replicas, not of replica {local_replica}; they belong to another strategy",
                self.slots.len()
            );
            Error::invalid("mdist_gradients_tensor", sentence)
        })?;
        Ok(slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<'run> Replica<'run> {
    /// This replica's gradients, to write, to hand over and to wait for. One at a time: a second
    /// one is [`Status::FailedPrecondition`], reason "borrowed".
    pub fn gradients<'g>(&'g self, gradients: &'g Gradients) -> Result<ReplicaGradients<'g>> {
        let run = &self.shared().alive;
        let mut slot = gradients.slot(self.local_index())?;
        let same_run = ptr::eq(slot.run.as_ptr(), std::sync::Arc::as_ptr(run));
        if slot.held || !same_run && slot.run.strong_count() != 0 {
            let sentence =
                "somebody holds the gradients of this replica; drop that first".to_string();
            return Err(borrowed(sentence));
        }
        if !same_run {
            // A run that failed within a round is over, and with it the library's use of the memory.
            slot.run = std::sync::Arc::downgrade(run);
            slot.ready = vec![false; gradients.count];
        }
        slot.held = true;
        drop(slot);
        Ok(ReplicaGradients {
            replica: self.raw(),
            local_replica: self.local_index(),
            gradients,
        })
    }
}

/// The gradients of one replica within its step.
///
/// A gradient is this replica's to write until it is [`ready`](ReplicaGradients::ready), and again
/// after the [`wait`](ReplicaGradients::wait). In between it belongs to the library, and asking for
/// it is [`Status::FailedPrecondition`], reason "borrowed".
pub struct ReplicaGradients<'g> {
    replica: *mut sys::mdist_replica, /* a pointer: neither Send nor Sync, as @thread replica
                                       * demands */
    local_replica: u32,
    gradients: &'g Gradients,
}

impl ReplicaGradients<'_> {
    /// Gradient `index`, to read.
    pub fn as_slice<T: Element>(&self, index: usize) -> Result<&[T]> {
        let raw = self.describe(index)?;
        let data = tensor::checked_data::<T>(&raw)?;
        // Safety: the type fits. The memory is ours until `ready`, which takes `&mut self`.
        Ok(unsafe { slice::from_raw_parts(data, tensor::elements_of(&raw)) })
    }

    /// Gradient `index`, to write.
    pub fn as_mut_slice<T: Element>(&mut self, index: usize) -> Result<&mut [T]> {
        let raw = self.describe(index)?;
        let data = tensor::checked_data::<T>(&raw)?;
        // Safety: as above, and exclusively.
        Ok(unsafe { slice::from_raw_parts_mut(data, tensor::elements_of(&raw)) })
    }

    /// Gradient `index` wherever it lies.
    pub fn tensor_mut(&mut self, index: usize) -> Result<TensorMut<'_>> {
        let raw = self.describe(index)?;
        // Safety: ours until `ready`, which takes `&mut self`.
        Ok(unsafe { TensorMut::from_raw(raw) })
    }

    /// Marks the round that begins now: it is added to the next round instead of being reduced.
    /// Call it before the first gradient of the round is ready.
    pub fn accumulate(&mut self) -> Result<()> {
        // Safety: handles of ours, on the step's thread.
        call(|error| unsafe {
            sys::mdist_gradients_accumulate(self.replica, self.gradients.raw.as_ptr(), error)
        })
    }

    /// Says that gradient `index` is complete. From now until the wait it belongs to the library.
    pub fn ready(&mut self, index: usize) -> Result<()> {
        let mut slot = self.gradients.slot(self.local_replica)?;
        // Safety: handles of ours, on the step's thread; nobody has a slice, since they borrow self.
        call(|error| unsafe {
            sys::mdist_gradients_ready(self.replica, self.gradients.raw.as_ptr(), index, error)
        })?;
        slot.ready[index] = true;
        Ok(())
    }

    /// The same for a lent gradient, which lies at `data` in this round.
    ///
    /// # Safety
    /// There is memory of the gradient's type and size, on the replica's device, which nobody else uses
    /// until the wait, or until the step ends.
    pub unsafe fn ready_at(&mut self, index: usize, data: *mut c_void) -> Result<()> {
        let mut slot = self.gradients.slot(self.local_replica)?;
        call(|error| {
            let raw = self.gradients.raw.as_ptr();
            sys::mdist_gradients_ready_at(self.replica, raw, index, data, error)
        })?;
        slot.ready[index] = true;
        Ok(())
    }

    /// Ends the round: on return all gradients are reduced and clipped, with the same bits on every
    /// replica.
    pub fn wait(&mut self) -> Result<Reduced> {
        let (mut norm, mut finite) = (0.0, 0);
        self.take_all()?;
        // Safety: handles of ours, on the step's thread; nobody has a slice, since they borrow self.
        call(|error| unsafe {
            sys::mdist_gradients_wait(
                self.replica,
                self.gradients.raw.as_ptr(),
                &mut norm,
                &mut finite,
                error,
            )
        })?;
        self.gradients.slot(self.local_replica)?.ready.fill(false);
        Ok(Reduced {
            norm,
            finite: finite != 0,
        })
    }

    /// The same without waiting for other replicas: `None` while the round has not ended. Call it until
    /// it has, and meanwhile nothing else that communicates. The round ends when every replica goes on
    /// calling this, or [`wait`](ReplicaGradients::wait)s. Until then all gradients belong to the library.
    pub fn test(&mut self) -> Result<Option<Reduced>> {
        let (mut done, mut norm, mut finite) = (0, 0.0, 0);
        self.take_all()?;
        // Safety: handles of ours, on the step's thread; nobody has a slice, since they borrow self.
        call(|error| unsafe {
            sys::mdist_gradients_test(
                self.replica,
                self.gradients.raw.as_ptr(),
                &mut done,
                &mut norm,
                &mut finite,
                error,
            )
        })?;
        if done == 0 {
            return Ok(None);
        }
        self.gradients.slot(self.local_replica)?.ready.fill(false);
        Ok(Some(Reduced {
            norm,
            finite: finite != 0,
        }))
    }

    /// The end of a round may take gradients that are not ready, too. If it fails, they stay taken.
    fn take_all(&mut self) -> Result<()> {
        self.gradients.slot(self.local_replica)?.ready.fill(true);
        Ok(())
    }

    fn describe(&self, index: usize) -> Result<sys::mdist_tensor> {
        if self.gradients.slot(self.local_replica)?.ready.get(index) == Some(&true) {
            let sentence =
                format!("gradient {index} belongs to the library until the round has ended; call wait first, or test until it has");
            return Err(borrowed(sentence));
        }
        let mut raw = tensor::no_tensor();
        // Safety: our handle.
        call(|error| unsafe {
            sys::mdist_gradients_tensor(
                self.gradients.raw.as_ptr(),
                self.local_replica,
                index,
                &mut raw,
                error,
            )
        })?;
        Ok(raw)
    }
}

impl Drop for ReplicaGradients<'_> {
    fn drop(&mut self) {
        if let Ok(mut slot) = self.gradients.slot(self.local_replica) {
            slot.held = false;
        }
    }
}

fn borrowed(sentence: String) -> Error {
    Error::new(
        Status::FailedPrecondition,
        "borrowed",
        "mdist_gradients_tensor",
        sentence,
    )
}
