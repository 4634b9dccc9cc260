// SPDX-License-Identifier: Apache-2.0
//! Preemption: one worker is told to go, and all of them save at the same step.
use std::mem;
use std::ptr::{self, NonNull};
use std::time::Duration;

use mdist_sys as sys;

use crate::error::{call, make, or_none, Error, Result};
use crate::Strategy;

/// What all workers are to do after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    GoOn,
    /// Save and go on: there is grace left.
    Save,
    /// Save and end the program.
    End,
}

/// Where a worker is told to go, by any thread: [`announce`](Preemption::announce), and after every
/// step [`check`](Preemption::check).
pub struct Preemption(NonNull<sys::mdist_preemption>);

// Safety: any thread; that checks come one at a time is checked by the library.
unsafe impl Send for Preemption {}
unsafe impl Sync for Preemption {}

impl Strategy {
    /// With the time between an announcement and the end of the machine; zero: end at once.
    pub fn preemption(&self, grace: Duration) -> Result<Preemption> {
        let options = sys::mdist_preemption_options {
            struct_size: mem::size_of::<sys::mdist_preemption_options>() as u32,
            flags: 0,
            grace_ns: u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX),
        };
        // Safety: our handle.
        let raw = make(|out, error| unsafe {
            sys::mdist_preemption_create(self.raw(), out, &options, error)
        })?;
        Ok(Preemption(
            NonNull::new(raw).expect("a call that succeeds gives a preemption"),
        ))
    }
}

impl Preemption {
    /// This worker is to go. Safe in a signal handler, too.
    pub fn announce(&self) {
        // Safety: our handle.
        unsafe { sys::mdist_preemption_announce(self.0.as_ptr()) }
    }

    /// Asks all workers, which all call it, whether any was told to go; and the rank of the first
    /// that was. The answer is the same on all.
    pub fn check(&self) -> Result<(Verdict, Option<u32>)> {
        let (mut verdict, mut worker) = (0, sys::MDIST_NONE);
        // Safety: our handle.
        call(|error| unsafe {
            let handle = self.0.as_ptr();
            sys::mdist_preemption_check(handle, &mut verdict, &mut worker, ptr::null(), error)
        })?;
        let verdict = match verdict {
            sys::MDIST_PREEMPTION_SAVE => Verdict::Save,
            sys::MDIST_PREEMPTION_END => Verdict::End,
            sys::MDIST_PREEMPTION_GO_ON => Verdict::GoOn,
            other => return Err(Error::unknown("mdist_preemption_check", "a verdict", other)),
        };
        Ok((verdict, or_none(worker)))
    }
}

impl Drop for Preemption {
    fn drop(&mut self) {
        // Safety: ours, and this is the end of it.
        unsafe { sys::mdist_preemption_destroy(self.0.as_ptr()) }
    }
}
