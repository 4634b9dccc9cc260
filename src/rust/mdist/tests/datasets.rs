// SPDX-License-Identifier: Apache-2.0
//! Input: described, transformed, cut over replicas.
mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use common::{cause, strategy};
use mdist::{Array, Dataset, Output, Status, Value, ValueKind, VariableOptions, UNKNOWN_LENGTH};

fn numbers(count: usize) -> Dataset {
    let (numbers, squares) = (
        (0..count as i32).collect(),
        (0..count as i32).map(|i| i * i).collect(),
    );
    Dataset::from_arrays(vec![
        Array::new(numbers, &[count]).unwrap(),
        Array::new(squares, &[count]).unwrap(),
    ])
    .unwrap()
}

/// The first component of every element, joined.
fn firsts(dataset: &Dataset) -> Vec<i32> {
    let elements = dataset
        .iter()
        .unwrap()
        .map(|element| element.unwrap().remove(0));
    elements
        .flat_map(|value| value.tensor(0).unwrap().as_slice::<i32>().unwrap().to_vec())
        .collect()
}

#[test]
fn transformations() {
    let dataset = numbers(10);
    assert_eq!(dataset.component_count(), 2);
    assert_eq!(firsts(&dataset), (0..10).collect::<Vec<_>>());
    assert_eq!(firsts(&dataset.shard(3, 1).unwrap()), [1, 4, 7]);
    assert_eq!(firsts(&numbers(2).repeat(3).unwrap()), [0, 1, 0, 1, 0, 1]);
    assert_eq!(dataset.batch(4, true).unwrap().iter().unwrap().count(), 2);
    assert_eq!(dataset.batch(4, false).unwrap().iter().unwrap().count(), 3);
    assert_eq!(
        numbers(1)
            .repeat_forever()
            .unwrap()
            .iter()
            .unwrap()
            .take(100)
            .count(),
        100
    );

    let shuffled = dataset.shuffle(10, 7, true).unwrap();
    let (one, two) = (firsts(&shuffled), firsts(&shuffled));
    assert!(one != two && one != firsts(&dataset));
    let again = dataset.shuffle(10, 7, true).unwrap();
    assert_eq!((firsts(&again), firsts(&again)), (one, two));
    let same = dataset.shuffle(10, 7, false).unwrap();
    assert_eq!(firsts(&same), firsts(&same));
    assert_eq!(
        dataset.shard(3, 3).map(drop).unwrap_err().status(),
        Status::InvalidArgument
    );
}

#[test]
fn a_map_computes_and_finds_zeros_in_its_outputs() {
    let dirty = Output::new::<f32>(&[UNKNOWN_LENGTH, 1000]);
    let mapped = numbers(8)
        .batch(4, false)
        .and_then(|batches| {
            batches.map(
                &[Output::new::<i64>(&[UNKNOWN_LENGTH]), dirty],
                |inputs, outputs| {
                    if outputs[1]
                        .as_mut_slice::<f32>()?
                        .iter()
                        .any(|&element| element != 0.0)
                    {
                        return Err("not zeros".into());
                    }
                    outputs[1].as_mut_slice::<f32>()?.fill(1.0); // for the next that gets this memory
                    let (numbers, squares) =
                        (inputs[0].as_slice::<i32>()?, inputs[1].as_slice::<i32>()?);
                    for ((sum, number), square) in outputs[0]
                        .as_mut_slice::<i64>()?
                        .iter_mut()
                        .zip(numbers)
                        .zip(squares)
                    {
                        *sum = i64::from(number + square);
                    }
                    Ok(())
                },
            )
        })
        .unwrap();
    for _ in 0..20 {
        let sums: Vec<i64> = mapped
            .iter()
            .unwrap()
            .flat_map(|element| {
                element.unwrap()[0]
                    .tensor(0)
                    .unwrap()
                    .as_slice::<i64>()
                    .unwrap()
                    .to_vec()
            })
            .collect();
        assert_eq!(sums, [0, 2, 6, 12, 20, 30, 42, 56]);
    }
}

#[test]
fn distributed_batches_are_cut_over_replicas() {
    let strategy = strategy(2);
    let batches = numbers(7).batch(4, false).unwrap();
    let parts: Vec<Vec<i32>> = strategy
        .distribute_dataset(&batches)
        .and_then(|dataset| dataset.iter())
        .unwrap()
        .flat_map(|element| {
            let value = element.unwrap().remove(0);
            assert_eq!(value.kind().unwrap(), ValueKind::PerReplica);
            (0..2).map(move |replica| {
                value
                    .tensor(replica)
                    .unwrap()
                    .as_slice::<i32>()
                    .unwrap()
                    .to_vec()
            })
        })
        .collect();
    assert_eq!(parts, [&[0, 1][..], &[2, 3], &[4, 5], &[6]]);
}

/// With and without a prefetch: on this thread, or on the library's.
#[test]
fn a_failing_map_ends_the_iteration_with_its_cause() {
    for prefetch in [false, true] {
        let mut dataset = numbers(5)
            .map(&[Output::new::<i32>(&[])], |inputs, outputs| {
                let number = inputs[0].as_slice::<i32>()?[0];
                if number == 3 {
                    panic!("three is too much");
                }
                outputs[0].as_mut_slice::<i32>()?[0] = number;
                Ok(())
            })
            .unwrap();
        if prefetch {
            dataset = dataset.prefetch(2).unwrap();
        }
        for _ in 0..3 {
            let mut elements = dataset.iter().unwrap();
            assert_eq!(elements.by_ref().take(3).filter(Result::is_ok).count(), 3);
            let error = elements.next().unwrap().unwrap_err();
            assert_eq!(
                (error.status(), error.reason()),
                (Status::Callback, "map_returned"),
                "{error}"
            );
            assert_eq!(cause(&error), "panicked: three is too much");
            assert!(elements.next().is_none());
        }
    }
}

#[test]
fn elements_outlive_everything_they_came_from() {
    let mut elements = numbers(3)
        .batch(3, false)
        .unwrap()
        .prefetch(1)
        .unwrap()
        .iter()
        .unwrap();
    let element = elements.next().unwrap().unwrap();
    drop(elements);
    assert_eq!(
        element[1].tensor(0).unwrap().as_slice::<i32>().unwrap(),
        [0, 1, 4]
    );
}

#[test]
fn a_map_may_own_handles_of_the_library() {
    let strategy = strategy(2);
    for prefetch in [false, true] {
        let alive = Arc::new(AtomicU32::new(0));
        struct Counted(Arc<AtomicU32>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        alive.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(alive.clone());
        let table = Value::new(&[5i32, 6, 7][..]).unwrap();
        let variable = strategy
            .variable("owned", &1f32, VariableOptions::default())
            .unwrap();
        let mut dataset = numbers(3)
            .map(&[Output::new::<i32>(&[])], move |inputs, outputs| {
                let _all = (&counted, &variable);
                let index = inputs[0].as_slice::<i32>()?[0] as usize;
                outputs[0].as_mut_slice::<i32>()?[0] = table.tensor(0)?.as_slice::<i32>()?[index];
                Ok(())
            })
            .unwrap();
        if prefetch {
            dataset = dataset.prefetch(1).unwrap();
        }
        assert_eq!(firsts(&dataset), [5, 6, 7]);
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        drop(dataset);
        // A prefetching thread may hold the last reference a little longer; then a later drop
        // sweeps.
        while alive.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
            drop(numbers(1));
        }
    }
}

#[test]
fn two_iterators_fail_each_with_its_own_cause() {
    let calls = AtomicU32::new(0);
    let dataset = numbers(1)
        .map(&[Output::new::<i32>(&[])], move |_, _| {
            Err(format!("call {}", calls.fetch_add(1, Ordering::SeqCst)).into())
        })
        .unwrap();
    let (mut a, mut b) = (dataset.iter().unwrap(), dataset.iter().unwrap());
    let (first, second) = (
        a.next().unwrap().unwrap_err(),
        b.next().unwrap().unwrap_err(),
    );
    assert_eq!(
        (cause(&first), cause(&second)),
        ("call 0".to_string(), "call 1".to_string())
    );
}
