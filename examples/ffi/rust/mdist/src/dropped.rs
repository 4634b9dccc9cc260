// SPDX-License-Identifier: Apache-2.0
//! Dropping what the library has given up. Its free functions must not call the library, but a
//! closure may own values or variables whose `drop` does. So free functions lay closures down here,
//! and whoever drops or makes a handle next, outside of the library, drops them.
use std::any::Any;
use std::mem;
use std::sync::{Mutex, PoisonError};

use crate::cause::drop_quietly;

static LAID_DOWN: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// Leaves it for the next sweep. On any thread, the library's own too.
pub(crate) fn lay_down(closure: Box<dyn Any + Send>) {
    LAID_DOWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(closure);
}

/// Drops what lies here. Not for callbacks of the library.
pub(crate) fn sweep() {
    let all = mem::take(&mut *LAID_DOWN.lock().unwrap_or_else(PoisonError::into_inner));
    all.into_iter().for_each(drop_quietly);
}
