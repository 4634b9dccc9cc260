// SPDX-License-Identifier: Apache-2.0
//! Collectives with a root, blocking and started, and descriptors of started ones.
mod common;

use std::os::unix::io::AsRawFd;

use common::{assert_usable, cause, strategy};
use mdist::{Op, Slice, SliceMut, StepResult};

fn check(right: bool, what: impl std::fmt::Debug) -> StepResult {
    right
        .then_some(())
        .ok_or_else(|| format!("{what:?}").into())
}

#[test]
fn only_the_root_gets_and_only_the_root_gives() {
    strategy(3)
        .run(|replica| {
            let id = replica.id() as usize;
            let (mut x, mut part) = ([id as i32 + 1], [9u8]);
            let mut all = vec![0u8; if id == 1 { 3 } else { 0 }];
            replica.reduce_to_root(Op::Sum, 2, &mut x)?;
            replica.gather_to_root(1, &(10 * id as u8), &mut all)?;
            check(
                x == [[1, 2, 6][id]] && (id != 1 || all == [0, 10, 20]),
                (x, &all),
            )?;
            replica.scatter(1, &all, &mut part)?;
            check(part == [10 * id as u8], part)
        })
        .unwrap();
}

#[test]
fn rooted_collectives_can_be_started() {
    strategy(3)
        .run(|replica| {
            let (id, root) = (replica.id() as i64, replica.id() == 0);
            let all = vec![0i64; if root { 3 } else { 0 }];
            let sum = replica.reduce_to_root_start(Op::Sum, 0, vec![1f32])?;
            let gather = replica.gather_to_root_start(0, vec![id], all)?;
            let given = if root { vec![7i32, 8, 9] } else { vec![] };
            let (_, part) = replica.scatter_start(0, given, vec![0])?.wait()?;
            let (_, all) = gather.wait()?;
            check(
                part == [7 + id as i32] && (!root || all == [0, 1, 2]),
                (part, all),
            )?;
            let sum = sum.wait()?;
            check(sum == [if root { 3.0 } else { 1.0 }], sum)
        })
        .unwrap();
}

#[test]
fn a_root_with_too_little_is_refused() {
    let strategy = strategy(2);
    let error = strategy.run(|replica| Ok(replica.gather_to_root(0, &1f32, &mut [0f32; 0])?));
    assert!(error.is_err());
    assert_usable(&strategy);
    let error = strategy
        .run(|replica| {
            let mut none: [SliceMut<'_>; 0] = [];
            Ok(replica.gather_to_root(0, &[Slice::one(&1f32)], &mut none)?)
        })
        .unwrap_err();
    assert_eq!(
        cause(&error),
        "1 inputs and 0 outputs; pass one output per input"
    );
    assert_usable(&strategy);
}

/// Waits until a descriptor is readable.
fn wait_readable(descriptor: i32) {
    #[repr(C)]
    struct PollFd {
        fd: i32,
        events: i16,
        revents: i16,
    }
    extern "C" {
        fn poll(fds: *mut PollFd, count: std::os::raw::c_ulong, timeout_ms: i32) -> i32;
    }
    let mut one = PollFd {
        fd: descriptor,
        events: 1, // POLLIN
        revents: 0,
    };
    // Safety: one struct, as poll(2) has it. If it is interrupted, it is called again later.
    unsafe { poll(&mut one, 1, 60_000) };
}

#[test]
fn a_descriptor_tells_when_to_test() {
    strategy(3)
        .run(|replica| {
            let mut work = replica.all_reduce_start(Op::Sum, vec![replica.id()])?;
            let descriptor = work.descriptor()?;
            while !work.test()? {
                wait_readable(descriptor.as_raw_fd());
            }
            let sum = work.wait()?;
            wait_readable(descriptor.as_raw_fd()); // stays readable, without the work
            check(sum == [3], sum)
        })
        .unwrap();
}
