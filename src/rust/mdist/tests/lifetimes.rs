// SPDX-License-Identifier: Apache-2.0
//! Handles end in any order, on any thread, and leave nothing behind.
mod common;

use std::any::Any;
use std::sync::mpsc;
use std::thread;

use common::strategy;
use mdist::{Array, Dataset, Output, Variable, VariableOptions};

type Thing = Box<dyn Any + Send>;

/// One of each kind of handle, each made from the others where that is possible, and in use.
fn things() -> Vec<Thing> {
    let strategy = strategy(2);
    let variable = strategy
        .variable("w", &1f32, VariableOptions::default())
        .unwrap();
    let rows = Dataset::from_arrays(vec![Array::new(vec![0u8; 8], &[8]).unwrap()]).unwrap();
    let mapped = rows.map(&[Output::new::<u8>(&[])], |_, _| Ok(())).unwrap();
    let batches = mapped
        .batch(2, false)
        .and_then(|batches| batches.prefetch(1))
        .unwrap();
    let distributed = strategy.distribute_dataset(&batches).unwrap();
    let mut elements = distributed.iter().unwrap();
    let element = elements.next().unwrap().unwrap().remove(0);
    strategy
        .run(|replica| Ok(replica.copy_mut::<f32>(&variable).map(drop)?))
        .unwrap();
    vec![
        Box::new(strategy),
        Box::new(variable),
        Box::new(batches),
        Box::new(distributed),
        Box::new(elements),
        Box::new(element),
    ]
}

/// Every order of `0..count` (Heap's algorithm).
fn permutations(count: usize, mut visit: impl FnMut(&[usize])) {
    let (mut order, mut turns, mut i) = ((0..count).collect::<Vec<_>>(), vec![0; count], 1);
    visit(&order);
    while i < count {
        if turns[i] < i {
            order.swap(if i % 2 == 0 { 0 } else { turns[i] }, i);
            visit(&order);
            turns[i] += 1;
            i = 1;
        } else {
            turns[i] = 0;
            i += 1;
        }
    }
}

#[test]
fn dropped_in_every_order_here_and_on_another_thread() {
    let (send, receive) = mpsc::channel::<Thing>();
    let other = thread::spawn(move || receive.into_iter().for_each(drop));
    let mut orders = 0;
    permutations(things().len(), |order| {
        orders += 1;
        let mut things: Vec<_> = things().into_iter().map(Some).collect();
        for &index in order {
            let thing = things[index].take().unwrap();
            // Every other order is dropped elsewhere, at the same time as later ones are made.
            if orders % 2 == 0 {
                send.send(thing).unwrap();
            }
        }
    });
    drop(send);
    other.join().unwrap();
    assert_eq!(orders, 6 * 5 * 4 * 3 * 2);
}

#[test]
fn a_variable_ends_with_its_last_clone_on_any_thread() {
    let strategy = strategy(2);
    for _ in 0..200 {
        let variable = strategy
            .variable("w", &1f32, VariableOptions::default())
            .unwrap();
        let clones: Vec<Variable> = vec![variable; 3];
        thread::scope(|scope| {
            clones
                .into_iter()
                .for_each(|clone| drop(scope.spawn(move || drop(clone))))
        });
        // The name is free again, so it is gone.
    }
}
