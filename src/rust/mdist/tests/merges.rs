// SPDX-License-Identifier: Apache-2.0
//! What happens once for all in the middle of a step.
mod common;

use std::sync::atomic::{AtomicU32, Ordering};

use common::{assert_usable, cause, strategy};
use mdist::{
    Bf16, Bool, Element, Op, Replica, Run, Status, StepResult, Tensor, Value, ValueKind, F16,
};

/// Each replica merges its id + 1 into everybody's sum, and says what it got.
fn merge_a_sum(replica: &Replica<'_>, merges: &AtomicU32) -> StepResult<f32> {
    let mine = replica.id() as f32 + 1.0;
    let results = replica.merge_call(&[(&mine).into()], 2, |strategy, values| {
        merges.fetch_add(1, Ordering::Relaxed);
        if values.len() != 1 || values[0].kind()? != ValueKind::PerReplica {
            return Err(format!("{values:?}").into());
        }
        Ok(vec![
            Some(strategy.reduce_to(Op::Sum, &values[0], None)?),
            None,
        ])
    })?;
    if results.len() != 2 || results[1].is_some() {
        return Err(format!("{results:?}").into());
    }
    Ok(results[0]
        .as_ref()
        .ok_or("no sum")?
        .tensor()
        .as_slice::<f32>()?[0])
}

#[test]
fn a_merge_sees_all_and_gives_each_its_part() {
    let strategy = strategy(3);
    let merges = AtomicU32::new(0);
    let mut sums = [0f32; 3];
    strategy
        .run_each(Run::new(), &mut sums, |replica, sum| {
            *sum = merge_a_sum(replica, &merges)?;
            Ok(())
        })
        .unwrap();
    assert_eq!((sums, merges.into_inner()), ([6.0; 3], 1));
}

#[test]
fn a_merge_on_threads_of_ones_own() {
    let strategy = strategy(3);
    let merges = AtomicU32::new(0);
    strategy
        .run_on_threads(Run::new(), |replica| match merge_a_sum(replica, &merges)? {
            sum if (6.0..=6.0).contains(&sum) => Ok(()),
            sum => Err(format!("the sum is {sum}").into()),
        })
        .unwrap();
    assert_eq!(merges.into_inner(), 1);
}

#[test]
fn results_outlive_the_next_merge() {
    let strategy = strategy(2);
    let one_value =
        |value: f32| move |_: &mdist::Strategy, _: &[Value]| Ok(vec![Some(Value::new(&value)?)]);
    strategy
        .run(|replica| {
            let first = replica.merge_call(&[], 1, one_value(1.0))?;
            replica.merge_call(&[], 1, one_value(2.0))?;
            let kept = first[0]
                .as_ref()
                .ok_or("nothing")?
                .tensor()
                .as_slice::<f32>()?[0];
            if kept == 1.0 {
                Ok(())
            } else {
                Err(format!("{kept}").into())
            }
        })
        .unwrap();
}

#[test]
fn a_merge_runs_nested_steps() {
    let strategy = strategy(2);
    let nested = AtomicU32::new(0);
    strategy
        .run(|replica| {
            replica.merge_call(&[], 0, |strategy, _| {
                strategy.run(|replica| {
                    nested.fetch_add(replica.id() + 1, Ordering::Relaxed);
                    Ok(replica.barrier()?)
                })?;
                Ok(Vec::new())
            })?;
            Ok(())
        })
        .unwrap();
    assert_eq!(nested.into_inner(), 3);
}

#[test]
fn a_failing_merge_fails_the_run_with_its_cause() {
    let strategy = strategy(2);
    let error = strategy
        .run(|replica| {
            Ok(replica
                .merge_call(&[], 0, |_, _| panic!("cannot agree"))
                .map(drop)?)
        })
        .unwrap_err();
    assert_eq!(
        (error.status(), error.operation()),
        (Status::Callback, "mdist_merge_call"),
        "{error}"
    );
    assert_eq!(cause(&error), "panicked: cannot agree");
    assert_usable(&strategy);

    let error = strategy
        .run(|replica| {
            Ok(replica
                .merge_call(&[], 2, |_, _| Ok(vec![None]))
                .map(drop)?)
        })
        .unwrap_err();
    assert_eq!(cause(&error), "the merge returned 1 values, not 2");
    assert_usable(&strategy);

    let nested = |strategy: &mdist::Strategy, _: &[Value]| {
        strategy.run(|replica| {
            if replica.id() == 1 {
                Err("deep down".into())
            } else {
                Ok(())
            }
        })?;
        Ok(Vec::new())
    };
    let error = strategy
        .run(|replica| Ok(replica.merge_call(&[], 0, nested).map(drop)?))
        .unwrap_err();
    let text = format!("{error:?}");
    assert!(text.contains("deep down"), "{text}");
    assert_usable(&strategy);
}

/// A merge's argument and result are the same elements, of any type and shape.
fn comes_back<T: Element + PartialEq + std::fmt::Debug>(elements: [T; 3]) {
    strategy(2)
        .run(|replica| {
            for given in [&elements[..], &[]] {
                let argument = Tensor::new(given, &[1, given.len()])?;
                let results = replica.merge_call(&[argument], 1, |strategy, values| {
                    let parts = [values[0].tensor(0)?, values[0].tensor(1)?];
                    Ok(vec![Some(strategy.per_replica(&parts)?)])
                })?;
                let result = results[0].as_ref().ok_or("nothing")?.tensor();
                if result.as_slice::<T>()? != given || result.shape() != [1, given.len()] {
                    return Err(format!("{result:?}").into());
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_merge_takes_and_gives_every_type() {
    comes_back([1.5f32, -2.0, f32::MAX]);
    comes_back([1.5f64, -2.0, f64::MAX]);
    comes_back([F16(1), F16(2), F16(u16::MAX)]);
    comes_back([Bf16(1), Bf16(2), Bf16(u16::MAX)]);
    comes_back([1i8, -2, i8::MAX]);
    comes_back([1u8, 2, u8::MAX]);
    comes_back([1i16, -2, i16::MAX]);
    comes_back([1u16, 2, u16::MAX]);
    comes_back([Bool(0), Bool(1), Bool(2)]);
    comes_back([1i32, -2, i32::MAX]);
    comes_back([1u32, 2, u32::MAX]);
    comes_back([1i64, -2, i64::MAX]);
    comes_back([1u64, 2, u64::MAX]);
}
