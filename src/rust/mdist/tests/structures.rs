// SPDX-License-Identifier: Apache-2.0
//! Structures and rows: through runs, reductions and variables.
mod common;

use std::collections::BTreeMap;

use common::{assert_usable, strategy};
use mdist::{Aggregation, Assign, Op, Run, Status, Tensor, Value, ValueKind, VariableOptions};

fn plain(elements: &[f32]) -> Value {
    Value::new(elements).unwrap()
}

fn content(value: &Value, index: usize) -> Vec<f32> {
    value.tensor(index).unwrap().as_slice().unwrap().to_vec()
}

#[test]
fn leaves_are_found_by_their_paths_and_outlive_the_whole() {
    let inner = Value::structure([("1", &plain(&[2.0])), ("0", &plain(&[1.0]))]).unwrap();
    let leaves = BTreeMap::from([("grads", &inner)]);
    let value = Value::structure(leaves.into_iter().chain([("loss", &plain(&[3.0]))])).unwrap();
    assert_eq!(
        (value.kind().unwrap(), value.count()),
        (ValueKind::Structure, 0)
    );
    assert_eq!(value.paths(), ["grads.0", "grads.1", "loss"]);
    let (grads, all) = (
        value.at("grads").unwrap(),
        BTreeMap::from_iter(value.leaves()),
    );
    let missing = value.at("grad").unwrap_err();
    assert_eq!(missing.status(), Status::NotFound, "{missing}");
    drop((value, inner));
    assert_eq!(grads.paths(), ["0", "1"]);
    assert_eq!(content(&all["grads.1"], 0), [2.0]);
    assert_eq!(all["loss"].paths(), [""]);
    for path in ["a..b", "a\0b"] {
        let error = Value::structure([(path, &grads)]).unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument, "{error}");
    }
    assert!(Value::structure::<&str>([]).unwrap().paths().is_empty());
}

#[test]
fn steps_take_and_give_structures() {
    for replicas in 1..=3 {
        let strategy = strategy(replicas);
        let batch = [Value::structure([("x", &plain(&[1.0])), ("y.0", &plain(&[5.0]))]).unwrap()];
        let step = |replica: &mdist::Replica<'_>| {
            let x = replica.argument_at(0, "x")?.as_slice::<f32>()?[0] + replica.id() as f32;
            replica.set_result_at(0, "sums.0", &[x][..])?;
            Ok(replica.set_result_at(0, "loss", &[1f32, 2.0][..])?)
        };
        let run = Run::new().arguments(&batch).results(1);
        let result = strategy.run_with(run, step).unwrap().remove(0).unwrap();
        assert_eq!(result.paths(), ["loss", "sums.0"]);
        let all = strategy.gather(&result, 0).unwrap();
        let expected = [1.0, 2.0, 3.0];
        assert_eq!(
            content(&all.at("sums.0").unwrap(), 0),
            expected[..replicas as usize]
        );
    }
}

#[test]
fn steps_that_give_different_ones_fail() {
    let strategy = strategy(2);
    let step = |replica: &mdist::Replica<'_>| {
        Ok(replica.set_result_at(0, ["a", "b"][replica.id() as usize], &1f32)?)
    };
    let error = strategy.run_with(Run::new().results(1), step).unwrap_err();
    assert_eq!(error.status(), Status::Mismatch, "{error}");
    assert_usable(&strategy);
}

#[test]
fn reductions_come_in_batches() {
    let strategy = strategy(2);
    let values: Vec<_> = (0..20)
        .map(|i| {
            strategy
                .per_replica(&[Tensor::from(&i), Tensor::from(&1)])
                .unwrap()
        })
        .collect();
    let values: Vec<&Value> = values.iter().collect();
    let mut destinations = [None; 20];
    destinations[3] = Some("cpu:1");
    let reduced = strategy
        .batch_reduce_to(Op::Sum, &values, &destinations)
        .unwrap();
    for (i, value) in reduced.iter().enumerate() {
        assert_eq!(
            value.tensor(0).unwrap().as_slice::<i32>().unwrap(),
            [i as i32 + 1]
        );
    }
    assert_eq!(
        (reduced[2].kind().unwrap(), reduced[3].kind().unwrap()),
        (ValueKind::Mirrored, ValueKind::Plain)
    );
    assert_eq!(
        strategy
            .batch_reduce_to(Op::Sum, &values, &[])
            .unwrap()
            .len(),
        20
    );
    let error = strategy
        .batch_reduce_to(Op::Sum, &values, &[None])
        .unwrap_err();
    assert!(
        error.to_string().contains("20 values and 1 destinations"),
        "{error}"
    );
}

#[test]
fn rows_are_joined_and_scattered() {
    let strategy = strategy(2);
    let options = VariableOptions::default().aggregation(Aggregation::Sum);
    let table = strategy.variable("table", &[1f32; 4][..], options).unwrap();
    let step = |replica: &mdist::Replica<'_>| {
        let (indices, values) = ([i64::from(replica.id()), 3], [10f32, 20.0]);
        let joined = replica.all_reduce_sparse(Op::Mean, &indices, &values[..])?;
        if joined.indices(0)? != Some(&[0, 3, 1, 3])
            || content(&joined, 0) != [5.0, 10.0, 5.0, 10.0]
        {
            return Err(format!("{joined:?}").into());
        }
        Ok(replica.assign_sparse(&table, Assign::Add, &indices, &values[..])?)
    };
    strategy.run(step).unwrap();
    assert_eq!(table.copy::<f32>(1).unwrap()[..], [11.0, 11.0, 1.0, 41.0]);
    let rows = Value::sparse(&Value::new(&[2i64][..]).unwrap(), &plain(&[7.0])).unwrap();
    table.assign(Assign::Mul, &rows).unwrap();
    assert_eq!(table.copy::<f32>(0).unwrap()[..], [11.0, 11.0, 7.0, 41.0]);
    assert_eq!(plain(&[1.0]).indices(0).unwrap(), None);
    let error = Value::sparse(&plain(&[2.0]), &plain(&[7.0])).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument, "{error}");
    let beyond = strategy
        .run(|replica| Ok(replica.assign_sparse(&table, Assign::Add, &[4], &[0f32][..])?));
    assert_eq!(beyond.unwrap_err().status(), Status::InvalidArgument);
    let held = table.copy::<f32>(1).unwrap();
    let error = strategy
        .run(|replica| Ok(replica.assign_sparse(&table, Assign::Add, &[0], &[0f32][..])?))
        .unwrap_err();
    assert!(
        common::cause(&error).contains("while somebody holds it"),
        "{error}"
    );
    drop(held);
}

#[test]
fn parts_of_a_loss_add_up_to_the_mean() {
    let examples: [&[f32]; 3] = [&[1.0, 2.0, 3.0], &[4.0], &[]];
    let step = |replica: &mdist::Replica<'_>| {
        let own = examples[replica.id() as usize];
        let (loss, batch) = replica.average_loss(own, None, None)?;
        let (weighted, _) = replica.average_loss(own, Some(own.into()), Some(batch))?;
        let mut sums = [
            loss,
            weighted,
            replica.scale_regularization(&[3f64, 6.0][..])?,
        ];
        replica.all_reduce(Op::Sum, &mut sums)?;
        if batch != 4 || sums != [2.5, 7.5, 9.0] {
            return Err(format!("{batch} {sums:?}").into());
        }
        Ok(())
    };
    strategy(3).run(step).unwrap();
}
