// SPDX-License-Identifier: Apache-2.0
//! The way of a closure's error around the C library: it is kept here under a number, the number is
//! what the C function sees returned, and the error that comes out in the end brings it back as its
//! `native` code. So whichever failure the library finds to be the first, its own cause is attached
//! to it.
use std::any::Any;
use std::collections::VecDeque;
use std::ffi::CString;
use std::fmt;
use std::mem;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mdist_sys as sys;

use crate::error::{BoxError, Error, Result, Status, StepResult};

/// How a closure ended: by a panic with this message.
#[derive(Debug)]
pub struct Panic(String);

impl Panic {
    pub fn message(&self) -> &str {
        &self.0
    }

    fn caught(payload: Box<dyn Any + Send>) -> Panic {
        let message = match (
            payload.downcast_ref::<&str>(),
            payload.downcast_ref::<String>(),
        ) {
            (Some(text), _) => text.to_string(),
            (_, Some(text)) => text.clone(),
            _ => "a value that is no text".to_string(),
        };
        drop_quietly(payload);
        Panic(message)
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "panicked: {}", self.0)
    }
}

impl std::error::Error for Panic {}

/// Drops what may panic in its turn, where no panic may pass. A second payload that panics is
/// leaked.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        mem::forget(payload);
    }
}

/// Calls a closure, and turns a panic into an error as well. The caller's state counts as
/// unwind-safe, as with threads: whoever sees the error knows that the closure was cut short.
pub(crate) fn catch<T>(closure: impl FnOnce() -> StepResult<T>) -> StepResult<T> {
    catch_unwind(AssertUnwindSafe(closure))
        .unwrap_or_else(|payload| Err(Panic::caught(payload).into()))
}

/// Errors whose `Display` panics have no words.
pub(crate) fn say(cause: &BoxError) {
    let words = catch(|| Ok(cause.to_string())).unwrap_or_default();
    let until_nul = words.split('\0').next().unwrap_or_default();
    if let Ok(words) = CString::new(until_nul) {
        // Safety: a C string, which is copied.
        unsafe { sys::mdist_fail(0, words.as_ptr()) }
    }
}

/// More than one run or iteration can bring forth; the oldest of those that nobody asked for go.
const KEPT: usize = 4096;

/// Numbers are the process's own, so that one object can look in others.
static LAST: AtomicU32 = AtomicU32::new(0);

#[derive(Default)]
pub(crate) struct Causes(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    causes: VecDeque<(i32, BoxError)>,
    others: Vec<Arc<Causes>>,
}

impl Causes {
    /// What the C library is to see returned, on this thread. It is told the cause in words, too, for
    /// the errors that other workers get.
    pub fn code_of(&self, result: StepResult) -> i32 {
        result.map_or_else(
            |cause| {
                say(&cause);
                self.keep(cause)
            },
            |()| 0,
        )
    }

    fn keep(&self, cause: BoxError) -> i32 {
        let number = LAST.fetch_add(1, Ordering::Relaxed) % (i32::MAX as u32 - 1);
        let code = number as i32 + 2; // never OK (0) or END (1)
        let mut kept = self.lock();
        kept.causes.push_back((code, cause));
        let forgotten = if kept.causes.len() > KEPT {
            kept.causes.pop_front()
        } else {
            None
        };
        drop(kept);
        drop_quietly(forgotten);
        code
    }

    /// Gives an error that a closure caused its cause.
    pub fn attach<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match self.take(&error) {
            Some(cause) => error.caused_by(cause),
            None => error,
        })
    }

    fn take(&self, error: &Error) -> Option<BoxError> {
        if error.status() != Status::Callback {
            return None;
        }
        self.remove(error.native())
    }

    fn remove(&self, number: i64) -> Option<BoxError> {
        let mut kept = self.lock();
        let index = kept
            .causes
            .iter()
            .position(|(code, _)| i64::from(*code) == number);
        if let Some(index) = index {
            return kept.causes.remove(index).map(|(_, cause)| cause);
        }
        let others = kept.others.clone();
        drop(kept);
        others.iter().find_map(|other| other.remove(number))
    }

    /// Also finds the causes of another: where datasets are joined.
    pub fn look_in(&self, other: &Arc<Causes>) {
        self.lock().others.push(other.clone());
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
