// SPDX-License-Identifier: Apache-2.0
//! Groups: some replicas of the job, in an order of their own.
use std::ptr::NonNull;

use mdist_sys as sys;

use crate::error::{make, or_none, Result};
use crate::Strategy;

/// Some replicas with collectives of their own, made by [`Strategy::group`] and used by
/// [`Replica::in_group`](crate::Replica::in_group). Keep groups: do not make one in each step.
pub struct Group(NonNull<sys::mdist_group>);

// Safety: functions of groups are for any thread.
unsafe impl Send for Group {}
unsafe impl Sync for Group {}

impl Strategy {
    /// Makes a group of these replicas; member i of the list has position i. All workers call it with
    /// the same list, even workers without members.
    pub fn group(&self, replicas: &[u32]) -> Result<Group> {
        let (list, count) = (replicas.as_ptr(), replicas.len());
        // Safety: our handle, and a list that is copied.
        let raw = make(|out, error| unsafe {
            sys::mdist_group_create(self.raw(), list, count, out, error)
        })?;
        Ok(Group(
            NonNull::new(raw).expect("a call that succeeds gives a group"),
        ))
    }
}

impl Group {
    pub(crate) fn raw(&self) -> *const sys::mdist_group {
        self.0.as_ptr()
    }

    /// How many members it has.
    pub fn size(&self) -> u32 {
        // Safety: our handle.
        unsafe { sys::mdist_group_size(self.raw()) }
    }

    /// The position of a replica of the job; `None` if it is not a member.
    pub fn position(&self, replica: u32) -> Option<u32> {
        // Safety: our handle.
        or_none(unsafe { sys::mdist_group_position(self.raw(), replica) })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Safety: ours. Operations under way run to their end, says C.
        unsafe { sys::mdist_group_destroy(self.0.as_ptr()) }
    }
}
