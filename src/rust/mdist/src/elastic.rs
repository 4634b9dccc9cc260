// SPDX-License-Identifier: Apache-2.0
//! Elastic jobs: they lose and gain workers, and go on with the same results.
use std::mem;
use std::os::raw::c_void;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use mdist_sys as sys;

use crate::cause::{catch, drop_quietly, Causes};
use crate::config::c_string;
use crate::copies::{Lock, Locked};
use crate::error::{call, make, Error, Result, Status, StepResult};
use crate::variable::all_locks;
use crate::Strategy;

/// What has changed with a regroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Regrouped {
    /// Of the job, from 1.
    pub generation: u32,
    /// Of the commit that was restored.
    pub step: u64,
    /// This worker's rank.
    pub rank: u32,
    pub worker_count: u32,
    /// Of this worker.
    pub first_replica_id: u32,
    pub local_replica_count: u32,
}

/// Locks the copies of all variables for a call.
fn lock_copies<'a>(
    locks: &'a [Arc<[Lock]>],
    operation: &str,
    lock: fn(&'a Lock) -> Option<Locked<'a>>,
) -> Result<Vec<Locked<'a>>> {
    let all = locks.iter().flat_map(|of_variable| of_variable.iter());
    let locked: Option<Vec<_>> = all.map(lock).collect();
    locked.ok_or_else(|| {
        let sentence = format!("{operation}: somebody holds a copy of a variable; drop that first");
        Error::new(Status::FailedPrecondition, "borrowed", operation, sentence)
    })
}

/// In jobs with the key `elastic.replicas`, which `mdist launch -n MIN:MAX` starts.
impl Strategy {
    /// Keeps a copy of the state in memory, for [`regroup`](Strategy::regroup) to go back to: all
    /// variables, positions of iterators over distributed datasets, and [`Blob`]s. All workers call it
    /// together, with the same `step`, which tells where to go on. The library makes the first commit
    /// itself, before the first run, with step 0.
    pub fn commit(&self, step: u64) -> Result<()> {
        let locks = all_locks(self.of());
        let _locked = lock_copies(&locks, "mdist_commit", Lock::try_read)?;
        // Safety: our handle; nobody writes the copies.
        let done = call(|error| unsafe { sys::mdist_commit(self.raw(), step, ptr::null(), error) });
        self.blobs.attach(done)
    }

    /// Forms the next generation of the job, of the workers that are left and those that have come, and
    /// restores the newest commit of which all is left. Call it when a call has failed because a worker
    /// was lost, when [`check_membership`](Strategy::check_membership) says so, and on a newcomer
    /// ([`is_joining`](Strategy::is_joining)) before its first step.
    ///
    /// Afterwards variables, datasets, iterators, checkpoints, gradients and blobs go on. Groups, calls,
    /// works and loops have ended, and gradients in memory of the program's own are to be lent again.
    ///
    /// After an error this worker is out of the job, except with [`Status::FailedPrecondition`].
    // Exclusive: C permits almost nothing else meanwhile.
    pub fn regroup(&mut self) -> Result<Regrouped> {
        let locks = all_locks(self.of());
        let _locked = lock_copies(&locks, "mdist_regroup", Lock::try_write)?;
        // Safety: zeros are a valid description.
        let mut change: sys::mdist_change = unsafe { mem::zeroed() };
        change.struct_size = mem::size_of::<sys::mdist_change>() as u32;
        // Safety: our handle; nobody holds a copy, whose address may change.
        let done = call(|error| unsafe {
            sys::mdist_regroup(self.raw(), &mut change, ptr::null(), error)
        });
        self.blobs.attach(done)?;
        Ok(Regrouped {
            generation: change.generation,
            step: change.step,
            rank: change.rank,
            worker_count: change.worker_count,
            first_replica_id: change.first_replica_id,
            local_replica_count: change.local_replica_count,
        })
    }

    /// Whether this worker is a newcomer to a job that is at work, and has not called
    /// [`regroup`](Strategy::regroup) yet. Until then it creates what the others have created, in the
    /// same order.
    pub fn is_joining(&self) -> bool {
        // Safety: our handle.
        unsafe { sys::mdist_strategy_is_joining(self.raw()) != 0 }
    }

    /// Registers state that the program has for each replica, such as a random generator, so that commits
    /// keep it. `save` writes `bytes` bytes, which are zero at first, for the replica of that id, and
    /// `restore` takes them back. All workers make the same blobs.
    ///
    /// [`commit`](Strategy::commit) and [`regroup`](Strategy::regroup) call them once for each local
    /// replica, and fail with their error. In a job of fixed size nothing calls them.
    pub fn blob<S, R>(&self, name: &str, bytes: usize, save: S, restore: R) -> Result<Blob>
    where
        S: FnMut(u32, &mut [u8]) -> StepResult + Send + 'static,
        R: FnMut(u32, &[u8]) -> StepResult + Send + 'static,
    {
        let name = c_string(name, "mdist_blob_create")?;
        let kept = Box::into_raw(Box::new(Kept {
            save,
            restore,
            causes: self.blobs.clone(),
        }));
        // Safety: the library frees `kept` once, also if this fails.
        let raw = make(|out, error| unsafe {
            sys::mdist_blob_create(
                self.raw(),
                name.as_ptr(),
                bytes,
                Some(save_of::<S, R>),
                Some(restore_of::<S, R>),
                kept.cast(),
                Some(free_kept::<S, R>),
                out,
                error,
            )
        })?;
        Ok(Blob(
            NonNull::new(raw).expect("a call that succeeds gives a blob"),
        ))
    }
}

/// State that commits keep, made by [`Strategy::blob`]. Once it is dropped, later commits do not keep it:
/// all workers drop it between the same two commits.
#[must_use = "commits keep the state as long as the blob lives"]
#[derive(Debug)]
pub struct Blob(NonNull<sys::mdist_blob>);

// Safety: blobs are destroyed on any thread, and their closures are Send.
unsafe impl Send for Blob {}
unsafe impl Sync for Blob {}

impl Drop for Blob {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it.
        unsafe { sys::mdist_blob_destroy(self.0.as_ptr()) }
    }
}

struct Kept<S, R> {
    save: S,
    restore: R,
    causes: Arc<Causes>,
}

/// An mdist_blob_save_fn. Commits and regroups of a strategy come one at a time, so nobody else has `kept`.
unsafe extern "C" fn save_of<S, R>(
    replica_id: u32,
    to: *mut c_void,
    bytes: usize,
    kept: *mut c_void,
) -> i32
where
    S: FnMut(u32, &mut [u8]) -> StepResult + Send + 'static,
{
    let kept = &mut *kept.cast::<Kept<S, R>>();
    let to = if bytes == 0 {
        &mut []
    } else {
        ptr::write_bytes(to.cast::<u8>(), 0, bytes);
        slice::from_raw_parts_mut(to.cast::<u8>(), bytes)
    };
    let save = &mut kept.save;
    kept.causes.code_of(catch(|| save(replica_id, to)))
}

/// An mdist_blob_restore_fn.
unsafe extern "C" fn restore_of<S, R>(
    replica_id: u32,
    from: *const c_void,
    bytes: usize,
    kept: *mut c_void,
) -> i32
where
    R: FnMut(u32, &[u8]) -> StepResult + Send + 'static,
{
    let kept = &mut *kept.cast::<Kept<S, R>>();
    let from = if bytes == 0 {
        &[]
    } else {
        slice::from_raw_parts(from.cast::<u8>(), bytes)
    };
    let restore = &mut kept.restore;
    kept.causes.code_of(catch(|| restore(replica_id, from)))
}

/// An mdist_free_fn. What the closures own may be handles: destroying those is allowed here.
unsafe extern "C" fn free_kept<S, R>(kept: *mut c_void) {
    drop_quietly(Box::from_raw(kept.cast::<Kept<S, R>>()));
}
