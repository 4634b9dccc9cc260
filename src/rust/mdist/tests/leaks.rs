// SPDX-License-Identifier: Apache-2.0
//! Thousands of strategies come, run and go, and the process stays as large as it was. Alone in its
//! program, since it counts what the whole process has.
mod common;

use std::fs;
use std::thread;
use std::time::Duration;

use common::strategy;
use mdist::{Array, Dataset, Memory, Op, Output, Run, Value, VariableOptions};

/// Everything that can be made, used once.
fn cycle() {
    let strategy = strategy(2);
    let variable = strategy
        .variable("w", &1f32, VariableOptions::default())
        .unwrap();
    let rows = Dataset::from_arrays(vec![Array::new(vec![1u8; 64], &[64]).unwrap()]).unwrap();
    let table = Value::new(&[1f32; 64][..]).unwrap();
    let structure = Value::structure([("x.0", &table), ("x.1", &table)]).unwrap();
    assert_eq!(structure.leaves().count(), 2);
    let mut checkpoint = strategy.checkpoint("unused", 1).unwrap();
    checkpoint.add(&variable).unwrap();
    strategy.leave(Duration::ZERO);
    let mapped =
        rows.batch(64, false)
            .unwrap()
            .map(&[Output::new::<f32>(&[64])], move |_, outputs| {
                outputs[0]
                    .as_mut_slice::<f32>()?
                    .copy_from_slice(table.tensor(0)?.as_slice()?);
                Ok(())
            });
    let elements = strategy
        .distribute_dataset(&mapped.unwrap())
        .unwrap()
        .iter()
        .unwrap();
    for element in elements {
        let step = |replica: &mdist::Replica<'_>| {
            let mut x = vec![replica.argument(0)?.as_slice::<f32>()?.len() as f32; 64];
            replica.all_reduce(Op::Sum, &mut x)?;
            replica.copy_mut::<f32>(&variable)?[0] = x[0];
            let memory = Memory::<f32>::of_replica(&strategy, replica.local_index(), 64)?;
            replica.all_reduce_start(Op::Sum, memory)?.wait()?;
            Ok(replica.set_result(0, &x[..])?)
        };
        let element = element.unwrap();
        assert!(strategy
            .run_with(Run::new().arguments(&element).results(1), step)
            .unwrap()[0]
            .is_some());
    }
    assert_eq!(variable.copy::<f32>(1).unwrap()[0], 64.0);
    assert!(strategy
        .run(|_| Err("every error has a cause to free".into()))
        .is_err());
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Open files and memory. Threads of a strategy that is gone may take a moment to end, and have
/// memory until then.
fn measure(threads: usize) -> (usize, usize) {
    while entries("/proc/self/task") > threads {
        thread::yield_now();
    }
    (entries("/proc/self/fd"), resident_kib())
}

#[test]
fn thousands_of_cycles_without_growth() {
    let is_long = std::env::var("MDIST_TEST_TIER").map_or(false, |tier| tier == "long");
    let tenth = if is_long { 1000 } else { 200 };
    let threads = entries("/proc/self/task");
    let run = |cycles: usize| (0..cycles).for_each(|_| cycle());
    run(tenth);
    let early = measure(threads);
    run(9 * tenth);
    let late = measure(threads);
    println!("files and KiB after a tenth of the cycles: {early:?}, after all: {late:?}");
    assert_eq!(early.0, late.0, "open files");
    // 100 bytes leaked per cycle would be 900 KiB in the long tier, 500 would be that in the quick one; the allocator's own
    // noise stays far below.
    assert!(
        late.1 < early.1 + 700,
        "resident KiB grew from {} to {}",
        early.1,
        late.1
    );
}
