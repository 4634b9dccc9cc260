// SPDX-License-Identifier: Apache-2.0
//! What goes into a run and comes out of it.
mod common;

use common::strategy;
use mdist::{Array, Element, Op, Run, Status, Tensor, Value, ValueKind};

#[test]
fn tensors_check_shape_and_type() {
    let numbers = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let tensor = Tensor::new(&numbers, &[2, 3]).unwrap();
    assert_eq!(
        (tensor.shape(), tensor.elements(), tensor.dtype()),
        (&[2, 3][..], 6, f32::dtype())
    );
    assert_eq!(tensor.as_slice::<f32>().unwrap(), numbers);
    assert_eq!(
        tensor.as_slice::<i32>().unwrap_err().to_string(),
        "the tensor is of float32, not of int32"
    );
    assert_eq!(
        Tensor::new(&numbers, &[4]).unwrap_err().to_string(),
        "6 elements do not fill the shape [4]"
    );
    assert_eq!(
        Tensor::new(&numbers, &[1; 9]).unwrap_err().status(),
        Status::InvalidArgument
    );
    assert_eq!(
        Tensor::new(&numbers, &[usize::MAX, 8])
            .unwrap_err()
            .status(),
        Status::InvalidArgument
    );
    assert_eq!(
        Tensor::new::<f64>(&[], &[0, 3])
            .unwrap()
            .as_slice::<f64>()
            .unwrap(),
        []
    );
    assert_eq!(Tensor::from(&7u8).shape(), []);
}

#[test]
fn a_value_copies_or_wraps() {
    let copied = Value::new(&[1i64, 2][..]).unwrap();
    let array = Array::new(vec![1u8, 2, 3, 4], &[2, 2]).unwrap();
    let address = array.tensor().as_slice::<u8>().unwrap().as_ptr();
    let wrapped = Value::try_from(array).unwrap();
    assert_eq!(copied.tensor(0).unwrap().as_slice::<i64>().unwrap(), [1, 2]);
    assert_eq!(
        wrapped
            .tensor(0)
            .unwrap()
            .as_slice::<u8>()
            .unwrap()
            .as_ptr(),
        address
    );
    assert_eq!(
        (wrapped.kind().unwrap(), wrapped.count()),
        (ValueKind::Plain, 1)
    );
    assert!(Value::zeros(f32::dtype(), &[9; 9]).is_err());
    assert_eq!(
        Value::zeros(f32::dtype(), &[3])
            .unwrap()
            .tensor(0)
            .unwrap()
            .as_slice::<f32>()
            .unwrap(),
        [0.0; 3]
    );
    assert_eq!(
        wrapped.tensor(1).unwrap_err().status(),
        Status::InvalidArgument
    );
}

#[test]
fn arguments_and_results() {
    let strategy = strategy(2);
    let (a, b) = ([1f32, 2.0], [3f32]);
    let parts = strategy.per_replica(&[a[..].into(), b[..].into()]).unwrap();
    let plain = Value::new(&10f32).unwrap();
    let results = strategy
        .run_with(
            Run::new().arguments(&[&parts, &plain]).results(2),
            |replica| {
                let mine = replica.argument(0)?.as_slice::<f32>()?;
                let factor = replica.argument(1)?.as_slice::<f32>()?[0];
                replica.set_result(0, &(mine.iter().sum::<f32>() * factor))?;
                Ok(())
            },
        )
        .unwrap();
    let sums = results[0].as_ref().unwrap();
    assert!(results[1].is_none());
    assert_eq!(sums.kind().unwrap(), ValueKind::PerReplica);
    assert_eq!(
        strategy
            .reduce(Op::Sum, sums, &[])
            .unwrap()
            .tensor(0)
            .unwrap()
            .as_slice::<f32>()
            .unwrap(),
        [60.0]
    );
    let mean = strategy.reduce(Op::Mean, &parts, &[0]).unwrap();
    assert_eq!(mean.tensor(0).unwrap().as_slice::<f32>().unwrap(), [2.0]);
    let joined = strategy.gather(&parts, 0).unwrap();
    assert_eq!(
        joined.tensor(0).unwrap().as_slice::<f32>().unwrap(),
        [1.0, 2.0, 3.0]
    );
    let everywhere = strategy.reduce_to(Op::Max, sums, None).unwrap();
    assert_eq!(
        (everywhere.kind().unwrap(), everywhere.count()),
        (ValueKind::Mirrored, 2)
    );
    let there = strategy.reduce_to(Op::Max, sums, Some("cpu:1")).unwrap();
    assert_eq!(there.tensor(0).unwrap().as_slice::<f32>().unwrap(), [30.0]);
    let mirrored = strategy.broadcast_to(&5u32).unwrap();
    assert_eq!(mirrored.tensor(1).unwrap().as_slice::<u32>().unwrap(), [5]);
}

#[test]
fn a_strategy_tells_what_it_has() {
    let strategy = strategy(2);
    assert_eq!(
        (strategy.replica_count(), strategy.local_replica_count()),
        (2, 2)
    );
    assert_eq!((strategy.worker_count(), strategy.rank()), (1, 0));
    assert!(strategy.is_chief());
}

#[test]
fn each_replica_writes_its_own_state() {
    let strategy = strategy(3);
    let mut states = vec![String::new(), String::new(), String::new()];
    strategy
        .run_each(Run::new(), &mut states, |replica, state| {
            state.push_str(&replica.id().to_string());
            Ok(replica.barrier()?)
        })
        .unwrap();
    assert_eq!(states, ["0", "1", "2"]);
    let error = strategy
        .run_each(Run::new(), &mut states[..2], |_, _| Ok(()))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 states for 3 local replicas; there must be one for each"
    );
}
