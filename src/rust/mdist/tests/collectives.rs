// SPDX-License-Identifier: Apache-2.0
//! What replicas do together, on slices of every type.
mod common;

use common::strategy;
use mdist::{Bf16, Element, Op, Slice, SliceMut, Status, StepResult, F16};

fn check(right: bool, what: impl std::fmt::Debug) -> StepResult {
    right
        .then_some(())
        .ok_or_else(|| format!("{what:?}").into())
}

/// Every replica brings id + 1; all leave with 1 + 2 + 3.
fn sums<T: Element + PartialEq + std::fmt::Debug>(numbers: [T; 3], six: T) {
    strategy(3)
        .run(|replica| {
            let mut x = [numbers[replica.id() as usize]; 17];
            replica.all_reduce(Op::Sum, &mut x)?;
            check(x == [six; 17], x)
        })
        .unwrap();
}

#[test]
fn all_reduce_takes_every_type() {
    sums([1f32, 2.0, 3.0], 6.0);
    sums([1f64, 2.0, 3.0], 6.0);
    sums([1i8, 2, 3], 6);
    sums([1u8, 2, 3], 6);
    sums([1i32, 2, 3], 6);
    sums([1u32, 2, 3], 6);
    sums([1i64, 2, 3], 6);
    sums([1u64, 2, 3], 6);
    sums([F16(0x3c00), F16(0x4000), F16(0x4200)], F16(0x4600));
    sums([Bf16(0x3f80), Bf16(0x4000), Bf16(0x4040)], Bf16(0x40c0));
    assert_eq!(f32::from(Bf16(0x40c0)), 6.0);
    assert_eq!(
        (f32::dtype().name(), Bf16::dtype().name()),
        ("float32", "bfloat16")
    );
}

#[test]
fn one_call_fuses_buffers_of_several_types() {
    strategy(2)
        .run(|replica| {
            let (mut floats, mut count, mut bytes) =
                (vec![0.5f32; 1000], 1u64, [replica.id() as u8; 3]);
            let mut buffers = [
                SliceMut::new(&mut floats),
                SliceMut::one(&mut count),
                SliceMut::new(&mut bytes),
            ];
            replica.all_reduce(Op::Sum, &mut buffers)?;
            check(
                floats == vec![1.0; 1000] && count == 2 && bytes == [1; 3],
                (floats, count, bytes),
            )
        })
        .unwrap();
}

#[test]
fn operations_are_what_they_say() {
    for (op, expected) in [
        (Op::Sum, 6.0),
        (Op::Mean, 2.0),
        (Op::Min, 1.0),
        (Op::Max, 3.0),
        (Op::Prod, 6.0),
    ] {
        strategy(3)
            .run(|replica| {
                let mut x = f64::from(replica.id() + 1);
                replica.all_reduce(op, &mut x)?;
                check(x == expected, (op, x))
            })
            .unwrap();
    }
}

#[test]
fn broadcast_copies_the_roots_buffers() {
    strategy(3)
        .run(|replica| {
            let mut x = vec![replica.id(); 5];
            replica.broadcast(2, &mut x)?;
            check(x == [2; 5], x)
        })
        .unwrap();
}

#[test]
fn all_gather_joins_inputs_of_any_length() {
    strategy(3)
        .run(|replica| {
            let mine = vec![replica.id() as i64; replica.id() as usize];
            let (mut all, mut ids) = ([9i64; 3], [9u8; 3]);
            replica.all_gather(
                &[Slice::new(&mine), Slice::one(&(replica.id() as u8))],
                &mut [SliceMut::new(&mut all), SliceMut::new(&mut ids)],
            )?;
            check(all == [1, 2, 2] && ids == [0, 1, 2], (all, ids))
        })
        .unwrap();
}

#[test]
fn reduce_scatter_gives_each_its_part() {
    strategy(2)
        .run(|replica| {
            let mut part = [0i32; 2];
            replica.reduce_scatter(Op::Sum, &[1, 2, 3, 4i32], &mut part)?;
            check(
                part == if replica.id() == 0 { [2, 4] } else { [6, 8] },
                part,
            )
        })
        .unwrap();
}

#[test]
fn all_to_all_transposes() {
    strategy(2)
        .run(|replica| {
            let (id, mut out) = (replica.id(), [9u32; 2]);
            replica.all_to_all(&[10 * id, 10 * id + 1], &mut out)?;
            check(out == [id, 10 + id], out)
        })
        .unwrap();
}

#[test]
fn barrier_waits_for_all() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let arrived = AtomicU32::new(0);
    strategy(3)
        .run(|replica| {
            arrived.fetch_add(1, Ordering::SeqCst);
            replica.barrier()?;
            check(arrived.load(Ordering::SeqCst) == 3, &arrived)
        })
        .unwrap();
}

#[test]
fn as_many_inputs_as_outputs() {
    let error = strategy(1)
        .run(
            |replica| Ok(replica.all_gather(&[Slice::one(&1f32), Slice::one(&2f32)], &mut [0f32])?),
        )
        .unwrap_err();
    assert_eq!(
        common::cause(&error),
        "2 inputs and 1 outputs; pass one output per input"
    );
}

#[test]
fn replicas_that_differ_are_an_error_on_all() {
    let error = strategy(2)
        .run(|replica| match replica.id() {
            0 => Ok(replica.all_reduce(Op::Sum, &mut 1f32)?),
            _ => Ok(replica.all_reduce(Op::Sum, &mut 1f64)?),
        })
        .unwrap_err();
    assert_eq!(error.status(), Status::Mismatch, "{error}");
    assert_eq!(error.operation(), "mdist_all_reduce");
    assert!(
        error.to_string().contains("float32") && error.to_string().contains("float64"),
        "{error}"
    );
}
