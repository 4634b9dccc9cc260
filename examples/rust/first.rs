// SPDX-License-Identifier: Apache-2.0
//! Fits a line to data on y = 3 x, so the weight becomes 3. Each replica computes a gradient on its
//! rows of each batch. An all-reduce sums the gradients, so every copy of the weight stays equal.
use std::error::Error;

use mdist::{Array, Config, Dataset, Op, Run, SliceMut, Strategy, VariableOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::new()?;
    config.set("devices", "cpu*2")?;
    let strategy = Strategy::new(&config)?;

    let xs: Vec<f32> = (0..60).map(|i| i as f32 / 60.0).collect();
    let ys: Vec<f32> = xs.iter().map(|x| 3.0 * x).collect();
    let rows = Dataset::from_arrays(vec![Array::new(xs, &[60])?, Array::new(ys, &[60])?])?;
    let batches = rows.shuffle(60, 1234, true)?.repeat(100)?.batch(8, false)?;
    let weight = strategy.variable("weight", &0f32, VariableOptions::default())?;

    for batch in strategy.distribute_dataset(&batches)?.iter()? {
        let batch = batch?; // two values, xs and ys, each split among the replicas
        strategy.run_with(Run::new().arguments(&batch), |replica| {
            let x = replica.argument(0)?.as_slice::<f32>()?;
            let y = replica.argument(1)?.as_slice::<f32>()?;
            let mut weight = replica.copy_mut::<f32>(&weight)?; // this replica's copy
            let mut gradient: f32 = x.iter().zip(y).map(|(x, y)| (weight[0] * x - y) * x).sum();
            let mut rows = x.len() as u64;
            replica.all_reduce(
                Op::Sum,
                &mut [SliceMut::one(&mut gradient), SliceMut::one(&mut rows)],
            )?;
            weight[0] -= gradient / rows as f32;
            Ok(())
        })?;
    }
    for replica in 0..strategy.local_replica_count() {
        println!(
            "{}: weight {:.3}",
            strategy.device(replica)?,
            weight.copy::<f32>(replica)?[0]
        );
    }

    // A step that fails releases the replicas that wait. The run returns its error on every worker.
    let failed = strategy.run(|replica| match replica.id() {
        1 => panic!("no more data"),
        _ => Ok(replica.barrier()?),
    });
    println!("{}", failed.unwrap_err());
    Ok(())
}
