// SPDX-License-Identifier: Apache-2.0
//! Runs on threads of one's own.
mod common;

use std::collections::HashSet;
use std::sync::{Barrier, Mutex};
use std::thread;

use common::{assert_usable, cause, configured, strategy};
use mdist::{Op, Run, Status, Strategy, Value};

#[test]
fn the_same_run_on_our_threads() {
    let strategy = strategy(3);
    let threads = Mutex::new(HashSet::new());
    let value = Value::new(&7f32).unwrap();
    let results = strategy
        .run_on_threads(Run::new().arguments(&[&value]).results(1), |replica| {
            threads
                .lock()
                .unwrap()
                .insert(thread::current().name().map(String::from));
            let mut x = replica.argument(0)?.as_slice::<f32>()?[0];
            replica.all_reduce(Op::Sum, &mut x)?;
            Ok(replica.set_result(0, &x)?)
        })
        .unwrap();
    let names = (0..3).map(|i| Some(format!("replica {i}"))).collect();
    assert_eq!(threads.into_inner().unwrap(), names);
    assert_eq!(
        results[0]
            .as_ref()
            .unwrap()
            .tensor(2)
            .unwrap()
            .as_slice::<f32>()
            .unwrap(),
        [21.0]
    );
}

#[test]
fn without_threads_of_the_library() {
    let strategy = configured(2, &[("executor", "caller")]);
    strategy
        .run_on_threads(Run::new(), |replica| Ok(replica.barrier()?))
        .unwrap();
}

#[test]
fn failures_and_panics_come_back() {
    let strategy = strategy(3);
    for guilty in 0..3 {
        let error = strategy
            .run_on_threads(Run::new(), |replica| match replica.id() {
                id if id == guilty => panic!("thread {id} gave up"),
                _ => Ok(replica.barrier()?),
            })
            .unwrap_err();
        assert_eq!(
            (error.status(), error.replica()),
            (Status::Callback, Some(guilty)),
            "{error}"
        );
        assert_eq!(cause(&error), format!("panicked: thread {guilty} gave up"));
        assert_usable(&strategy);
    }
}

#[test]
fn threads_that_stay_enter_run_after_run() {
    const RUNS: usize = 200;
    let strategy = strategy(2);
    let open = Mutex::new(None);
    let gate = Barrier::new(2);
    let mut seen = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..RUNS {
                gate.wait();
                let run: std::sync::Arc<mdist::OpenRun<'_>> = open.lock().unwrap().clone().unwrap();
                run.step(1, |replica| Ok(replica.broadcast(0, &mut 0u64)?))
                    .unwrap();
                drop(run);
                gate.wait();
            }
        });
        for number in 0..RUNS as u64 {
            let run = std::sync::Arc::new(strategy.begin(Run::new()).unwrap());
            *open.lock().unwrap() = Some(run.clone());
            gate.wait();
            let entered = run.enter(0).unwrap();
            let mut x = number;
            entered.broadcast(0, &mut x).unwrap();
            seen.push(x);
            entered.exit(Ok(())).unwrap();
            gate.wait();
            *open.lock().unwrap() = None;
            std::sync::Arc::try_unwrap(run).ok().unwrap().end().unwrap();
        }
    });
    assert_eq!(seen, (0..RUNS as u64).collect::<Vec<_>>());
}

fn one_open_run(strategy: &Strategy) -> mdist::OpenRun<'_> {
    strategy.begin(Run::new()).unwrap()
}

#[test]
fn whatever_is_dropped_in_between_leaves_a_usable_strategy() {
    let strategy = strategy(1);
    let open = one_open_run(&strategy);
    assert_eq!(strategy.run(|_| Ok(())).unwrap_err().reason(), "busy");
    drop(open.enter(0).unwrap());
    let error = open.end().unwrap_err();
    assert_eq!(
        cause(&error),
        "the replica was dropped inside its step; leave it by exit"
    );
    assert_usable(&strategy);

    assert_eq!(
        one_open_run(&strategy).end().unwrap_err().reason(),
        "not_entered"
    );
    drop(one_open_run(&strategy));
    assert_usable(&strategy);

    let open = one_open_run(&strategy);
    open.step(0, |_| Ok(())).unwrap();
    assert!(
        open.enter(0).map(drop).is_err(),
        "a replica was entered twice"
    );
    open.end().unwrap();
    assert_usable(&strategy);
}

#[test]
fn a_leaked_replica_keeps_the_run_open_and_no_more() {
    let strategy = strategy(1);
    let open = one_open_run(&strategy);
    std::mem::forget(open.enter(0).unwrap());
    assert_eq!(open.end().unwrap_err().reason(), "replica_inside");
    assert_eq!(strategy.run(|_| Ok(())).unwrap_err().reason(), "busy");
}
