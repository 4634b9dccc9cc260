// SPDX-License-Identifier: Apache-2.0
//! Steps and updates by name, loops, and gradients in the program's own memory.
mod common;

use std::sync::Arc;

use common::{assert_usable, cause, strategy};
use mdist::{
    Aggregation, Array, Dataset, GradientsOptions, Iter, Memory, Run, Status, Strategy, Value,
    VariableOptions,
};

#[test]
fn steps_and_updates_run_by_their_names() {
    let strategy = strategy(2);
    let watched = Arc::new(());
    let kept = watched.clone();
    strategy
        .register_step("add", move |replica| {
            let _ = &kept;
            let x = replica.argument(0)?.as_slice::<f32>()?[0];
            Ok(replica.set_result(0, &[x + replica.id() as f32][..])?)
        })
        .unwrap();
    strategy
        .register_update("subtract", |local_replica, copy, arguments| {
            if let Some(copy) = copy {
                copy.as_mut_slice::<f32>()?[0] -= arguments[0].as_slice::<f32>()?[0];
            }
            Ok(vec![Some(Value::new(&[local_replica][..])?)])
        })
        .unwrap();
    let five = Value::new(&[5f32][..]).unwrap();
    let found = strategy
        .run_named("add", Run::new().arguments(&[&five]).results(1))
        .unwrap();
    let found = found[0].as_ref().unwrap();
    assert_eq!(found.tensor(1).unwrap().as_slice::<f32>().unwrap(), [6.0]);
    let variable = strategy
        .variable("v", &[10f32][..], VariableOptions::default())
        .unwrap();
    let who = strategy
        .update_named(Some(&variable), "subtract", &[&five], 1)
        .unwrap();
    let who = who[0].as_ref().unwrap();
    assert_eq!(who.tensor(1).unwrap().as_slice::<u32>().unwrap(), [1]);
    strategy
        .update_named(None, "subtract", &[&five], 1)
        .unwrap();
    let same = strategy.find_variable("v").unwrap();
    assert_eq!(same.copy::<f32>(1).unwrap()[0], 5.0);
    let writer = same.copy_mut::<f32>(1).unwrap();
    let refused = variable.copy::<f32>(1).map(drop).unwrap_err(); // two handles, one guard
    assert_eq!(refused.reason(), "borrowed", "{refused}");
    drop(writer);
    drop(strategy);
    assert_eq!(Arc::strong_count(&watched), 1); // closures go with their strategy
}

#[test]
fn failures_have_their_cause_and_unknown_names_are_told() {
    let strategy = strategy(2);
    strategy
        .register_step("bad", |_| Err("here".into()))
        .unwrap();
    strategy
        .register_update("bad", |_, _, _| panic!("there"))
        .unwrap();
    let error = strategy.run_named("bad", Run::new()).map(drop).unwrap_err();
    assert_eq!(cause(&error), "here");
    let error = strategy
        .update_named(None, "bad", &[], 0)
        .map(drop)
        .unwrap_err();
    assert_eq!(cause(&error), "panicked: there");
    let error = strategy.run_named("dab", Run::new()).map(drop).unwrap_err();
    assert!(
        error.status() == Status::NotFound && error.to_string().contains("bad"),
        "{error}"
    );
    let error = strategy.find_variable("w").map(drop).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    let error = strategy.serve(Run::new()).unwrap_err();
    assert_eq!(error.status(), Status::FailedPrecondition);
    assert_usable(&strategy);
}

fn batches(strategy: &Strategy, count: usize) -> Iter {
    let rows: Vec<f32> = (0..2 * count).map(|row| row as f32).collect();
    let rows = Dataset::from_arrays(vec![Array::new(rows, &[2 * count]).unwrap()]).unwrap();
    let batches = rows.batch(2, false).unwrap();
    strategy
        .distribute_dataset(&batches)
        .unwrap()
        .iter()
        .unwrap()
}

#[test]
fn a_loop_collects_outputs() {
    let strategy = strategy(2);
    let mut seen = 0;
    let over = strategy
        .run_steps(
            &mut batches(&strategy, 3),
            u64::MAX,
            None,
            |running, element| {
                assert_eq!(running.iterations(), seen);
                seen += 1;
                running.set_output("last", element, Aggregation::None)?;
                assert_eq!(
                    running.outputs().map(drop).unwrap_err().reason(),
                    "loop_running"
                );
                strategy.run_with(Run::new().arguments(&[element]), |replica| {
                    let x = replica.argument(0)?;
                    Ok(replica.set_output(running, "mean", x, Aggregation::Mean)?)
                })?;
                Ok(())
            },
        )
        .unwrap();
    assert_eq!(over.iterations(), 3);
    let outputs = over.outputs().unwrap();
    let mean = outputs.at("mean").unwrap();
    assert_eq!(mean.tensor(0).unwrap().as_slice::<f32>().unwrap(), [4.5]);
    let last = outputs.at("last").unwrap();
    assert_eq!(last.tensor(1).unwrap().as_slice::<f32>().unwrap(), [5.0]);
}

#[test]
fn a_failure_ends_a_loop_and_initial_outputs_stay() {
    let strategy = strategy(2);
    let mut iterator = batches(&strategy, 2);
    let error = strategy
        .run_steps(&mut iterator, 1, None, |_, _| panic!("no more"))
        .map(drop)
        .unwrap_err();
    assert_eq!(cause(&error), "panicked: no more");
    let seven = Value::new(&[7f32][..]).unwrap();
    let initial = Value::structure([("loss", &seven)]).unwrap();
    let over = strategy
        .run_steps(&mut iterator, 1, Some(&initial), |_, _| Ok(()))
        .unwrap();
    let loss = over.outputs().unwrap().at("loss").unwrap();
    assert_eq!(loss.tensor(0).unwrap().as_slice::<f32>().unwrap(), [7.0]);
}

#[test]
fn gradients_in_memory_of_the_program() {
    let strategy = strategy(2);
    let arrays = vec![(vec![1f32, 2.0], vec![3f64]), (vec![4.0, 5.0], vec![6.0])];
    let mut gradients = strategy
        .gradients_lent(arrays, GradientsOptions::default())
        .unwrap();
    assert_eq!(gradients.count(), 2);
    let round = |gradients: &mdist::Gradients, elsewhere: bool, expected: [f32; 2]| {
        strategy
            .run(|replica| {
                let mut own = replica.gradients(gradients)?;
                own.ready(1)?;
                let mut moved = vec![replica.id() as f32 + 1.0; 2];
                if elsewhere {
                    // Safety: it lives until the wait.
                    unsafe { own.ready_at(0, moved.as_mut_ptr().cast()) }?;
                } else {
                    own.ready(0)?;
                }
                own.wait()?;
                let found = if elsewhere {
                    moved
                } else {
                    own.as_slice::<f32>(0)?.to_vec()
                };
                if found != expected {
                    return Err(format!("{found:?}").into());
                }
                Ok(())
            })
            .unwrap();
    };
    round(&gradients, false, [5.0, 7.0]);
    round(&gradients, true, [3.0, 3.0]);
    for local in 0..2 {
        let mut memory = Memory::<f32>::new(2).unwrap();
        memory.fill(10.0);
        gradients.lend(local, (memory, vec![0f64])).unwrap();
    }
    round(&gradients, false, [20.0, 20.0]);
    let error = gradients.lend(0, vec![1f32]).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument, "{error}");
    let few = strategy
        .gradients_lent(vec![vec![1f32]], GradientsOptions::default())
        .map(drop)
        .unwrap_err();
    assert!(
        few.to_string()
            .contains("1 lists of gradients for 2 local replicas"),
        "{few}"
    );
}

#[test]
fn gradients_that_go_within_a_round_leave_their_memory_to_it() {
    let strategy = strategy(2);
    let arrays = vec![vec![1f32; 100_000], vec![2.0; 100_000]];
    let gradients = strategy
        .gradients_lent(arrays, GradientsOptions::default())
        .unwrap();
    let shared = std::sync::Mutex::new(Some(Arc::new(gradients)));
    let error = strategy
        .run(|replica| {
            let own = shared.lock().unwrap().clone().expect("gradients");
            replica.gradients(&own)?.ready(0)?;
            replica
                .barrier()
                .map(|()| drop(shared.lock().unwrap().take()))
                .ok();
            Ok(())
        })
        .unwrap_err();
    assert!(!error.to_string().is_empty());
    assert_usable(&strategy);
}
