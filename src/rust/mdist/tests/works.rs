// SPDX-License-Identifier: Apache-2.0
//! Collectives under way, and memory of the library.
mod common;

use std::sync::Barrier;
use std::time::Duration;

use common::{assert_usable, cause, strategy};
use mdist::{Memory, Op, Replica, Run, Status, StepResult, Strategy, Work};

fn equal<T: PartialEq + std::fmt::Debug>(left: T, right: T) -> StepResult {
    if left == right {
        Ok(())
    } else {
        Err(format!("{left:?} is not {right:?}").into())
    }
}

/// Once on the library's threads, once on our own.
fn both_ways(strategy: &Strategy, step: impl Fn(&Replica<'_>) -> StepResult + Sync) {
    strategy.run(&step).unwrap();
    strategy.run_on_threads(Run::new(), &step).unwrap();
}

#[test]
fn tested_until_it_is_done() {
    both_ways(&strategy(3), |replica| {
        let mut work = replica.all_reduce_start(Op::Sum, vec![1f32; 100_000])?;
        while !work.test()? {
            std::thread::yield_now();
        }
        equal(work.wait()?, vec![3.0; 100_000])
    });
}

#[test]
fn waited_for() {
    both_ways(&strategy(2), |replica| {
        let work = replica.all_reduce_start(Op::Max, (vec![replica.id(); 3], vec![0.5f64]))?;
        equal(work.wait()?, (vec![1; 3], vec![0.5]))?;
        let mut work = replica.broadcast_start(1, vec![vec![replica.id() as u8; 2], vec![7]])?;
        while !work.wait_for(Duration::from_millis(1))? {}
        equal(work.wait()?, vec![vec![1, 1], vec![7]])?;
        let (_, all) = replica
            .all_gather_start(vec![replica.id()], vec![9u32; 2])?
            .wait()?;
        equal(all, vec![0, 1])?;
        let (_, part) = replica
            .reduce_scatter_start(Op::Sum, vec![1i8, 2], vec![0i8])?
            .wait()?;
        equal(part, vec![2 * (replica.id() as i8 + 1)])?;
        let (_, turned) = replica
            .all_to_all_start(vec![replica.id(), 5], vec![0u32; 2])?
            .wait()?;
        equal(
            turned,
            if replica.id() == 0 {
                vec![0, 1]
            } else {
                vec![5, 5]
            },
        )?;
        Ok(replica.barrier_start()?.wait()?)
    });
}

#[test]
fn one_starts_what_others_call() {
    both_ways(&strategy(2), |replica| {
        if replica.id() == 0 {
            return equal(
                replica.all_reduce_start(Op::Sum, vec![1i64])?.wait()?,
                vec![2],
            );
        }
        let mut x = 1i64;
        replica.all_reduce(Op::Sum, &mut x)?;
        equal(x, 2)
    });
}

#[test]
fn in_memory_of_the_library() {
    let strategy = strategy(2);
    both_ways(&strategy, |replica| {
        let mut memory = Memory::<f32>::of_replica(&strategy, replica.local_index(), 1000)?;
        equal(memory.as_ptr() as usize % 64, 0)?;
        equal(memory.iter().all(|&element| element == 0.0), true)?;
        memory.fill(2.0);
        let memory = replica.all_reduce_start(Op::Prod, memory)?.wait()?;
        equal(memory.iter().all(|&element| element == 4.0), true)
    });
    assert_eq!(Memory::<u8>::new(0).unwrap().len(), 0);
    assert_eq!(
        Memory::<u64>::new(usize::MAX / 2)
            .map(drop)
            .unwrap_err()
            .status(),
        Status::InvalidArgument
    );
    let mut memory = Memory::<i32>::new(3).unwrap();
    drop(strategy);
    memory[2] = 5;
    assert_eq!(format!("{memory:?}"), "[0, 0, 5]");
}

#[test]
fn a_blocking_call_waits_for_its_turn() {
    both_ways(&strategy(2), |replica| {
        let first = replica.all_reduce_start(Op::Sum, vec![1f32])?;
        let second = replica.all_reduce_start(Op::Max, vec![replica.id()])?;
        replica.barrier()?;
        equal(second.wait()?, vec![1])?;
        equal(first.wait()?, vec![2.0])
    });
}

#[test]
fn given_up_it_fails_the_run_and_frees_the_strategy() {
    let strategy = strategy(2);
    let given_up = Barrier::new(2);
    let error = strategy
        .run(|replica| {
            if replica.id() == 0 {
                drop(replica.all_reduce_start(Op::Sum, vec![1f32; 10])?);
            } // the other never comes
            given_up.wait();
            Ok(())
        })
        .unwrap_err();
    assert_eq!(
        (error.status(), error.reason()),
        (Status::Aborted, "work_destroyed"),
        "{error}"
    );
    assert_usable(&strategy);
}

#[test]
fn a_leaked_work_leaks_its_buffers_and_fails_the_run() {
    let strategy = strategy(2);
    for _ in 0..10 {
        let error = strategy
            .run(|replica| {
                std::mem::forget(replica.all_reduce_start(Op::Sum, vec![1f32; 1000])?);
                Ok(())
            })
            .unwrap_err();
        assert_eq!(error.reason(), "work_under_way", "{error}");
        assert_usable(&strategy);
    }
}

#[test]
fn a_panic_with_a_work_under_way() {
    let strategy = strategy(2);
    let error = strategy
        .run(|replica| {
            let _work: Work<'_, Vec<f32>> = replica.all_reduce_start(Op::Sum, vec![1f32; 10])?;
            panic!("out of patience");
        })
        .unwrap_err();
    // Whether the work was given up or finished while the panic passed it, nobody hangs.
    assert!(
        error.status() == Status::Aborted || cause(&error).contains("out of patience"),
        "{error:?}"
    );
    assert_usable(&strategy);
}

#[test]
fn a_wrong_start_gives_an_error_at_once() {
    let error = strategy(1)
        .run(|replica| Ok(replica.broadcast_start(5, vec![1f32]).map(drop)?))
        .unwrap_err();
    assert_eq!(
        (error.status(), error.operation()),
        (Status::InvalidArgument, "mdist_collective_start"),
        "{error}"
    );
}
