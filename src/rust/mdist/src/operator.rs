// SPDX-License-Identifier: Apache-2.0
//! Operators: reductions of the program's own.
use std::os::raw::c_void;
use std::slice;

use mdist_sys as sys;

use crate::cause::{catch, say};
use crate::config::c_string;
use crate::element::Element;
use crate::error::{call, Result};
use crate::strategy::Op;

/// The number of an [`Operator`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered(sys::mdist_reduce_op);

impl Registered {
    pub(crate) fn raw(self) -> sys::mdist_reduce_op {
        self.0
    }
}

/// A reduction of elements that are `N` numbers each, by a closure:
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut config = mdist::Config::new()?;
/// # config.set("devices", "cpu*2")?;
/// # let strategy = mdist::Strategy::new(&config)?;
/// let larger = mdist::Operator::new("larger", |left: &[f32; 2], right: &[f32; 2]| {
///     if left[0] >= right[0] { *left } else { *right }
/// })?;
/// strategy.run(|replica| {
///     let mut pair = [replica.id() as f32, 7.0];
///     replica.all_reduce(&larger, &mut pair)?;
///     assert_eq!(pair, [1.0, 7.0]);
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// - It is applied along the library's fixed tree, lower replica ids on the left. So it need be neither
///   associative nor commutative.
/// - Buffers may be of any type, but must be whole numbers of elements long.
/// - All replicas use operators of the same name and element size, and their closures do the same.
/// - The closure runs on any thread, on several at the same time, and must not use this crate. A panic
///   fails the collective with the panic's words.
///
/// A collective with an operator that was dropped is an error. The closure itself is kept until the
/// program ends, since nobody can tell when the last collective of other replicas is done with it.
pub struct Operator(Registered);

struct Combining<F>(F);

impl Operator {
    /// Registers an operator in this process. The name has 1 to 64 printable ASCII characters.
    pub fn new<T, F, const N: usize>(name: &str, combine: F) -> Result<Operator>
    where
        T: Element,
        F: Fn(&[T; N], &[T; N]) -> [T; N] + Send + Sync + 'static,
    {
        let name = c_string(name, "mdist_operator_register")?;
        let kept = Box::into_raw(Box::new(Combining(combine)));
        let mut op = 0;
        // Safety: the closure is Send and Sync, and stays.
        let registered = call(|error| unsafe {
            sys::mdist_operator_register(
                name.as_ptr(),
                std::mem::size_of::<[T; N]>(),
                Some(combine_of::<T, F, N>),
                kept.cast(),
                &mut op,
                error,
            )
        });
        if let Err(error) = registered {
            // Safety: nobody else has it.
            drop(unsafe { Box::from_raw(kept) });
            return Err(error);
        }
        Ok(Operator(Registered(op)))
    }
}

impl From<&Operator> for Op {
    fn from(operator: &Operator) -> Op {
        Op::Registered(operator.0)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // Safety: any number will do.
        unsafe { sys::mdist_operator_unregister(self.0.raw()) }
    }
}

/// An mdist_combine_fn around the closure in `user_data`.
unsafe extern "C" fn combine_of<T, F, const N: usize>(
    left: *const c_void,
    right: *const c_void,
    out: *mut c_void,
    count: u64,
    user_data: *mut c_void,
) -> i32
where
    T: Element,
    F: Fn(&[T; N], &[T; N]) -> [T; N] + Send + Sync + 'static,
{
    let combining = &*(user_data as *const Combining<F>);
    // Aligned for T, says C, and every pattern of bits is a T. What `out` held is not read.
    let left = slice::from_raw_parts(left.cast::<[T; N]>(), count as usize);
    let right = slice::from_raw_parts(right.cast::<[T; N]>(), count as usize);
    let out = out.cast::<[T; N]>();
    let combined = catch(|| {
        for (index, (left, right)) in left.iter().zip(right).enumerate() {
            out.add(index).write((combining.0)(left, right));
        }
        Ok(())
    });
    match combined {
        Ok(()) => 0,
        Err(cause) => {
            say(&cause);
            1
        }
    }
}
