// SPDX-License-Identifier: Apache-2.0
//! Input: who gets which rows.
mod common;

use common::{assert_usable, cause, strategy};
use mdist::{
    Array, Dataset, InputOptions, InputPipeline, Iter, Output, ReplicationMode, ShardPolicy,
    Status, Strategy, Uneven,
};

fn rows(count: i64) -> Dataset {
    let numbers = Array::new((0..count).collect(), &[count as usize]).unwrap();
    Dataset::from_arrays(vec![numbers]).unwrap()
}

type Step = (Vec<Vec<i64>>, Vec<u64>);

/// What each replica gets in each step, and how many rows the iterator counts.
fn steps(dataset: &Dataset, strategy: &Strategy) -> Vec<Step> {
    let mut iterator = dataset.iter().unwrap();
    let mut steps = Vec::new();
    while let Some(element) = iterator.next() {
        let value = element.unwrap().remove(0);
        let parts = (0..strategy.local_replica_count() as usize)
            .map(|i| value.tensor(i).unwrap().as_slice::<i64>().unwrap().to_vec());
        steps.push((parts.collect(), iterator.row_counts(strategy).unwrap()));
    }
    steps
}

fn distributed(strategy: &Strategy, count: i64, options: &InputOptions) -> Vec<Step> {
    let batches = rows(count).batch(4, false).unwrap();
    steps(
        &strategy.distribute_dataset_with(&batches, options).unwrap(),
        strategy,
    )
}

#[test]
fn options_decide_who_gets_which_rows() {
    let strategy = strategy(2);
    let weights = InputOptions::default().weights(vec![1.0, 3.0]);
    assert_eq!(
        distributed(&strategy, 8, &weights),
        [
            (vec![vec![0], vec![1, 2, 3]], vec![1, 3]),
            (vec![vec![4], vec![5, 6, 7]], vec![1, 3])
        ]
    );
    let spread = InputOptions::default().uneven(Uneven::Spread);
    assert_eq!(
        distributed(&strategy, 7, &spread)[1],
        (vec![vec![4, 5], vec![6]], vec![2, 1])
    );
    let dropped = InputOptions::default().uneven(Uneven::Drop);
    assert_eq!(
        distributed(&strategy, 7, &dropped)[1],
        (vec![vec![4], vec![5]], vec![1, 1])
    );
    let whole = InputOptions::default().split(false).whole_steps(true);
    assert_eq!(
        distributed(&strategy, 12, &whole),
        [(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]], vec![4, 4])]
    );
    let refused = weights.split(false);
    let batches = rows(8).batch(4, false).unwrap();
    let error = strategy
        .distribute_dataset_with(&batches, &refused)
        .map(drop)
        .unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument);
}

#[test]
fn what_was_decided_is_explained() {
    let strategy = strategy(2);
    let options = InputOptions::default().policy(ShardPolicy::Data);
    let batches = rows(8).batch(4, false).unwrap();
    let text = strategy
        .distribute_dataset_with(&batches, &options)
        .unwrap()
        .explain()
        .unwrap();
    assert!(
        text.to_lowercase().contains("data") && text.contains('\n'),
        "{text}"
    );
}

#[test]
fn a_function_makes_the_dataset() {
    let strategy = strategy(2);
    let make = |pipeline: InputPipeline| {
        assert_eq!(
            (pipeline.count, pipeline.index, pipeline.replica_count),
            (1, 0, 2)
        );
        Ok(rows(8).batch(pipeline.batch_size(4)?, false)?)
    };
    let dataset = strategy
        .distribute_from_function(&InputOptions::default(), make)
        .unwrap();
    assert_eq!(
        steps(&dataset, &strategy)[1],
        (vec![vec![4, 5], vec![6, 7]], vec![2, 2])
    );
    let options = InputOptions::default().mode(ReplicationMode::PerReplica);
    let each = |pipeline: InputPipeline| {
        Ok(rows(4)
            .shard(2, u64::from(pipeline.index))?
            .batch(1, false)?)
    };
    let dataset = strategy.distribute_from_function(&options, each).unwrap();
    assert_eq!(steps(&dataset, &strategy)[1].0, [[2], [3]]);
}

#[test]
fn errors_of_the_function_and_of_maps_in_it_come_back() {
    let strategy = strategy(2);
    let options = InputOptions::default();
    let failed = strategy
        .distribute_from_function(&options, |_| Err("no data".into()))
        .map(drop)
        .unwrap_err();
    assert_eq!(
        (failed.status(), cause(&failed)),
        (Status::Callback, "no data".to_string())
    );
    let panicked = strategy
        .distribute_from_function(&options, |_| panic!("no data"))
        .map(drop)
        .unwrap_err();
    assert_eq!(cause(&panicked), "panicked: no data");
    let make = |_| {
        Ok(rows(4)
            .map(&[Output::new::<i64>(&[])], |_, _| Err("bad row".into()))?
            .batch(2, false)?)
    };
    let dataset = strategy.distribute_from_function(&options, make).unwrap();
    let error = dataset
        .iter()
        .unwrap()
        .next()
        .unwrap()
        .map(drop)
        .unwrap_err();
    assert_eq!(cause(&error), "bad row");
    assert_usable(&strategy);
}

#[test]
fn a_position_is_saved_and_restored() {
    let numbers = |iterator: &mut Iter| -> Vec<i64> {
        iterator
            .map(|element| {
                element.unwrap()[0]
                    .tensor(0)
                    .unwrap()
                    .as_slice::<i64>()
                    .unwrap()[0]
            })
            .collect()
    };
    let dataset = rows(9).shuffle(9, 3, true).unwrap();
    let mut iterator = dataset.iter().unwrap();
    iterator.next().unwrap().unwrap();
    let text = iterator.save().unwrap();
    let rest = numbers(&mut iterator);
    assert_eq!(rest.len(), 8);
    iterator.restore(&text).unwrap(); // one that has ended
    assert_eq!(numbers(&mut iterator), rest);
    let error = iterator.restore("nonsense").unwrap_err();
    assert_eq!(
        (error.status(), error.reason()),
        (Status::DataLoss, "corrupt")
    );
}
