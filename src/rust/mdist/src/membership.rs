// SPDX-License-Identifier: Apache-2.0
//! Membership: a worker says that it must leave, and all of them decide at the same step what they do about it.
use std::ptr;
use std::time::Duration;

use mdist_sys as sys;

use crate::error::{call, or_none, Error, Result};
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
    /// [`commit`](Strategy::commit) and [`regroup`](Strategy::regroup), in an elastic job.
    Regroup,
}

impl Strategy {
    /// This worker must leave. `grace`: from now to the end of the machine; zero: end at once. On any
    /// thread, and safe in a signal handler.
    pub fn leave(&self, grace: Duration) {
        let grace_ns = u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX);
        // Safety: our handle.
        unsafe { sys::mdist_membership_leave(self.raw(), grace_ns) }
    }

    /// Asks all workers, which all call it, what to do next, and the rank of the first that has said that
    /// it leaves. The answer is the same on all.
    pub fn check_membership(&self) -> Result<(Verdict, Option<u32>)> {
        let (mut verdict, mut rank) = (0, sys::MDIST_NONE);
        // Safety: our handle.
        call(|error| unsafe {
            sys::mdist_membership_check(self.raw(), &mut verdict, &mut rank, ptr::null(), error)
        })?;
        let verdict = match verdict {
            sys::MDIST_VERDICT_GO_ON => Verdict::GoOn,
            sys::MDIST_VERDICT_SAVE => Verdict::Save,
            sys::MDIST_VERDICT_END => Verdict::End,
            sys::MDIST_VERDICT_REGROUP => Verdict::Regroup,
            other => return Err(Error::unknown("mdist_membership_check", "a verdict", other)),
        };
        Ok((verdict, or_none(rank)))
    }
}
