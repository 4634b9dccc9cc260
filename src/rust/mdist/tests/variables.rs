// SPDX-License-Identifier: Apache-2.0
//! State with one copy per replica, and who may touch a copy when.
mod common;

use common::{assert_usable, cause, strategy};
use mdist::{
    Aggregation, Assign, Element, Status, Synchronization, Tensor, Value, Variable, VariableOptions,
};

fn options(aggregation: Aggregation) -> VariableOptions {
    VariableOptions::default().aggregation(aggregation)
}

fn first(variable: &Variable) -> f32 {
    variable
        .read()
        .unwrap()
        .tensor(0)
        .unwrap()
        .as_slice::<f32>()
        .unwrap()[0]
}

#[test]
fn copies_are_slices_in_steps_and_outside() {
    let strategy = strategy(2);
    let initial = [1f32, 2.0, 3.0, 4.0];
    let weights = Tensor::new(&initial, &[2, 2]).unwrap();
    let variable = strategy
        .variable("w", weights, VariableOptions::default())
        .unwrap();
    strategy
        .run(|replica| {
            let mut copy = replica.copy_mut::<f32>(&variable)?;
            copy.iter_mut()
                .for_each(|element| *element += replica.id() as f32);
            Ok(())
        })
        .unwrap();
    assert_eq!(variable.copy::<f32>(0).unwrap()[..], initial);
    assert_eq!(variable.copy::<f32>(1).unwrap()[..], [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(variable.name(), "w");
    assert_eq!(
        variable.copy::<f64>(0).map(drop).unwrap_err().to_string(),
        "the tensor is of float32, not of float64"
    );
    assert_eq!(
        variable.copy::<f32>(2).map(drop).unwrap_err().status(),
        Status::InvalidArgument
    );
}

#[test]
fn assignments_aggregate() {
    let strategy = strategy(3);
    let sum = strategy
        .variable("sum", &1f32, options(Aggregation::Sum))
        .unwrap();
    let first_only = strategy
        .variable("first", &1f32, options(Aggregation::OnlyFirstReplica))
        .unwrap();
    strategy
        .run(|replica| {
            let mine = replica.id() as f32 + 10.0;
            replica.assign(&sum, Assign::Add, &mine)?;
            Ok(replica.assign(&first_only, Assign::Set, &mine)?)
        })
        .unwrap();
    assert_eq!((first(&sum), first(&first_only)), (34.0, 10.0));
    sum.assign(Assign::Sub, &Value::new(&4f32).unwrap())
        .unwrap();
    assert_eq!(sum.copy::<f32>(2).unwrap()[0], 30.0);
}

#[test]
fn synchronized_on_read() {
    let strategy = strategy(2);
    let kind = VariableOptions::default()
        .synchronization(Synchronization::OnRead)
        .aggregation(Aggregation::Mean);
    let loss = strategy.zeros("loss", f32::dtype(), &[], kind).unwrap();
    strategy
        .run(|replica| Ok(replica.assign(&loss, Assign::Set, &(replica.id() as f32))?))
        .unwrap();
    assert_eq!(first(&loss), 0.5);
}

#[test]
fn made_in_a_step_it_is_one_for_all_replicas() {
    let strategy = strategy(3);
    let made = std::sync::Mutex::new(Vec::new());
    for round in 0..3u8 {
        strategy
            .run(|replica| {
                let options = options(Aggregation::Sum);
                let variable = replica.variable(
                    &format!("v{round}"),
                    &(replica.id() as f32 + 5.0),
                    options,
                )?;
                replica.assign(&variable, Assign::Add, &1f32)?;
                made.lock().unwrap().push(variable);
                Ok(())
            })
            .unwrap();
    }
    let mut made = made.into_inner().unwrap();
    assert_eq!(made.len(), 9);
    assert!(made.iter().all(|variable| first(variable) == 8.0)); // replica 0's 5, and 3 ones
    let last = made.pop().unwrap();
    drop(made); // clones of `last` among them
    assert_eq!(first(&last), 8.0);
}

#[test]
fn dropped_in_the_step_that_made_it() {
    let strategy = strategy(3);
    for _ in 0..100 {
        strategy
            .run(|replica| {
                Ok(replica
                    .variable("passing", &1f32, VariableOptions::default())
                    .map(drop)?)
            })
            .unwrap(); // and the name is free again
    }
}

fn refused<T>(result: mdist::Result<T>, what: &str) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(
        (error.status(), error.reason()),
        (Status::FailedPrecondition, "borrowed"),
        "{error}"
    );
    assert!(error.to_string().contains(what), "{error}");
}

#[test]
fn a_copy_has_one_writer_or_many_readers() {
    let strategy = strategy(2);
    let variable = strategy
        .variable("w", &1f32, VariableOptions::default())
        .unwrap();
    let value = Value::new(&2f32).unwrap();
    let reading = (
        variable.copy::<f32>(1).unwrap(),
        variable.copy::<f32>(1).unwrap(),
    );
    refused(
        variable.copy_mut::<f32>(1),
        "copy 1 of variable \"w\" cannot be written",
    );
    refused(
        variable.assign(Assign::Set, &value),
        "copy 1 of variable \"w\" cannot be assigned",
    );
    refused(variable.update(&[], |_, _, _| Ok(())), "cannot be updated");
    assert_eq!(first(&variable), 1.0);
    drop(reading);

    let writing = variable.copy_mut::<f32>(0).unwrap();
    refused(
        variable.copy::<f32>(0),
        "copy 0 of variable \"w\" cannot be read",
    );
    refused(variable.read(), "cannot be read");
    variable.copy_mut::<f32>(1).unwrap()[0] = 7.0; // another copy
    std::thread::scope(|scope| {
        scope
            .spawn(|| refused(variable.clone().copy::<f32>(0), "read"))
            .join()
            .unwrap()
    });
    drop(writing);
    variable.assign(Assign::Set, &value).unwrap(); // nothing stayed locked on the way
    assert_eq!(variable.copy::<f32>(1).unwrap()[0], 2.0);
}

#[test]
fn a_copy_held_in_a_step_is_not_written_under_it() {
    let strategy = strategy(2);
    let variable = strategy
        .variable("w", &1f32, options(Aggregation::Sum))
        .unwrap();
    let error = strategy
        .run(|replica| {
            let _mine = replica.copy::<f32>(&variable)?;
            Ok(replica.assign(&variable, Assign::Set, &2f32)?)
        })
        .unwrap_err();
    assert!(
        cause(&error).contains("cannot be assigned while somebody holds it"),
        "{error:?}"
    );

    // Replica 1 holds its copy across a merge, in which replica 0 would write it.
    let error = strategy
        .run(|replica| {
            let mine = (replica.id() == 1)
                .then(|| replica.copy_mut::<f32>(&variable))
                .transpose()?;
            replica.merge_call(&[], 0, |_, _| {
                variable.assign(Assign::Set, &Value::new(&9f32)?)?;
                Ok(Vec::new())
            })?;
            drop(mine);
            Ok(())
        })
        .unwrap_err();
    assert!(
        cause(&error).contains("copy 1 of variable \"w\" cannot be assigned"),
        "{error:?}"
    );
    assert_usable(&strategy);
    assert_eq!(first(&variable), 1.0);
}

#[test]
fn a_leaked_guard_locks_for_ever_and_no_more() {
    let strategy = strategy(1);
    let variable = strategy
        .variable("w", &1f32, VariableOptions::default())
        .unwrap();
    std::mem::forget(variable.copy_mut::<f32>(0).unwrap());
    refused(variable.copy::<f32>(0), "read");
    drop(variable);
    strategy
        .variable("w", &2f32, VariableOptions::default())
        .unwrap()
        .copy_mut::<f32>(0)
        .unwrap()[0] = 3.0;
}

#[test]
fn updates_visit_every_copy() {
    let strategy = strategy(3);
    let variable = strategy
        .variable("w", &1f32, VariableOptions::default())
        .unwrap();
    let steps = strategy
        .per_replica(&[(&1f32).into(), (&2f32).into(), (&3f32).into()])
        .unwrap();
    let mut visited = Vec::new();
    variable
        .update(&[&steps], |local_replica, copy, arguments| {
            visited.push(local_replica);
            copy.as_mut_slice::<f32>()?[0] += arguments[0].as_slice::<f32>()?[0];
            Ok(())
        })
        .unwrap();
    assert_eq!(visited, [0, 1, 2]);
    assert_eq!(variable.copy::<f32>(2).unwrap()[0], 4.0);

    let error = variable
        .update(&[], |replica, _, _| {
            if replica == 1 {
                panic!("no ink")
            } else {
                Ok(())
            }
        })
        .unwrap_err();
    assert_eq!(
        (cause(&error).as_str(), error.replica()),
        ("panicked: no ink", Some(1))
    );
    variable.copy_mut::<f32>(1).unwrap();
}
