// SPDX-License-Identifier: Apache-2.0
//! Maps over elements, values from functions, fetches, and updates with results.
mod common;

use common::{assert_usable, cause, strategy};
use mdist::{Op, Run, Status, Value, VariableOptions};

fn content<T: mdist::Element>(value: &Value, index: usize) -> Vec<T> {
    value.tensor(index).unwrap().as_slice().unwrap().to_vec()
}

#[test]
fn a_map_computes_elements_on_all_replicas() {
    let strategy = strategy(3);
    let table = [Value::new(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]).unwrap()];
    let run = Run::new().arguments(&table).results(1);
    let results = strategy.map(7, run, |replica, element| {
        let x = replica.argument(0)?.as_slice::<f32>()?[element as usize];
        Ok(replica.set_result(0, &(2.0 * x))?)
    });
    let doubled = results.unwrap().remove(0).unwrap();
    assert_eq!(content::<f32>(&doubled, 1), [2.0, 8.0]);
    let mean = strategy.reduce(Op::Mean, &doubled, &[0]).unwrap();
    assert_eq!(content::<f32>(&mean, 0), [6.0]);
    let error = strategy
        .map(3, Run::new(), |_, _| panic!("no more"))
        .unwrap_err();
    assert_eq!(cause(&error), "panicked: no more");
    assert_usable(&strategy);
}

#[test]
fn values_come_from_functions() {
    let strategy = strategy(3);
    let made = strategy.values_from_function(|id, count| {
        let (id, count) = (Value::new(&id)?, Value::new(&count)?);
        Ok(Value::structure([("id", &id), ("of", &count)])?)
    });
    let made = made.unwrap();
    assert_eq!(content::<u32>(&made.at("id").unwrap(), 2), [2]);
    assert_eq!(content::<u32>(&made.at("of").unwrap(), 1), [3]);
    let error = strategy
        .values_from_function(|_, _| Err("no more".into()))
        .unwrap_err();
    assert_eq!(
        (error.status(), cause(&error)),
        (Status::Callback, "no more".to_string())
    );
}

#[test]
fn a_fetch_takes_what_is_made_of_a_value() {
    let strategy = strategy(2);
    let value = strategy.broadcast_to(&[1i32, 5, 3][..]).unwrap();
    assert_eq!(
        content::<i32>(&strategy.fetch(&value, None).unwrap(), 0),
        [1, 5, 3]
    );
    let largest = strategy.fetch_with(&value, Some("cpu:1"), |source| {
        Ok(Value::new(
            source.as_slice::<i32>()?.iter().max().ok_or("none")?,
        )?)
    });
    assert_eq!(content::<i32>(&largest.unwrap(), 0), [5]);
    let error = strategy
        .fetch_with(&value, None, |_| panic!("no more"))
        .unwrap_err();
    assert_eq!(cause(&error), "panicked: no more");
}

#[test]
fn updates_give_results() {
    let strategy = strategy(2);
    let variable = strategy
        .variable("w", &[1f32, 2.0][..], VariableOptions::default())
        .unwrap();
    let results = variable.update_with(&[], 2, |local, copy, _| {
        let copy = copy.as_mut_slice::<f32>()?;
        let before = Value::new(&*copy)?;
        copy[local as usize] = 9.0;
        Ok(vec![Some(before), None])
    });
    let results = results.unwrap();
    assert_eq!(content::<f32>(results[0].as_ref().unwrap(), 1), [1.0, 2.0]);
    assert!(results[1].is_none());
    assert_eq!(variable.copy::<f32>(1).unwrap()[..], [1.0, 9.0]);
    let five = Value::new(&5i64).unwrap();
    let steps = strategy.update_devices(&[&five], 1, |local, arguments| {
        Ok(vec![Some(Value::new(
            &(arguments[0].as_slice::<i64>()?[0] + i64::from(local)),
        )?)])
    });
    assert_eq!(content::<i64>(steps.unwrap()[0].as_ref().unwrap(), 1), [6]);
    let error = variable
        .update_with(&[], 1, |_, _, _| Ok(vec![]))
        .unwrap_err();
    assert_eq!(cause(&error), "the update returned 0 values, not 1");
    assert_usable(&strategy);
}
