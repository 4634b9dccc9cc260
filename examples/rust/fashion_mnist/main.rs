// SPDX-License-Identifier: Apache-2.0
//! The C program examples/fashion_mnist in Rust. It trains a small network on several mirrored
//! replicas. The network classifies images of clothes into ten kinds. Options, seeds and arithmetic
//! are the same as in C, so the weights are the same at the end, bit for bit.
//!
//! One step:
//! 1. The dataset gives a batch and splits it among the replicas (input.rs).
//! 2. Each replica computes gradients on its own rows with its own copy of the weights (model.rs).
//! 3. One all_reduce sums the gradients, the loss, the correct answers and the rows (trainer.rs).
//! 4. Each replica updates its copy by the mean of the batch, so the copies stay equal.
mod blas;
mod input;
mod mnist;
mod model;
mod options;
mod trainer;

use std::error::Error;
use std::process::ExitCode;

use mdist::{Config, Dataset, Strategy};

use input::batches;
use mnist::MnistSet;
use model::Totals;
use options::Options;
use trainer::Trainer;

const FIRST_RATE: f32 = 0.1; // learning rate of the first step; it falls linearly to 0
const SHUFFLE_SEED: u64 = 1234; // must not be 0

/// Reads the devices from the environment, --config and --replicas. Later ones override earlier
/// ones. The default is two replicas.
fn configuration(options: &Options) -> mdist::Result<Config> {
    let mut config = Config::new()?;
    if let Some(path) = &options.config {
        config.load(path)?;
    }
    let replicas = match options.replicas {
        0 if config.get("devices")? != "auto" => return Ok(config),
        0 => 2,
        replicas => replicas,
    };
    config.set("devices", &format!("cpu*{replicas}"))?;
    Ok(config)
}

/// The length of the training.
struct Plan {
    epochs: u64,
    steps_per_epoch: u64,
    limit: u64, // 0: no limit
}

impl Plan {
    fn new(options: &Options, rows: usize) -> Plan {
        let steps_per_epoch = (rows as u64 + options.batch - 1) / options.batch;
        Plan {
            epochs: options.epochs,
            steps_per_epoch,
            limit: options.limit_steps,
        }
    }
    fn ends_before(&self, step: u64) -> bool {
        self.limit != 0 && step >= self.limit
    }
    fn rate(&self, step: u64) -> f32 {
        FIRST_RATE * (1.0 - step as f32 / (self.steps_per_epoch * self.epochs) as f32)
    }
}

fn train(trainer: &mut Trainer<'_>, training: &Dataset, plan: &Plan) -> mdist::Result<()> {
    let mut step = 0;
    for epoch in 1..=plan.epochs {
        if plan.ends_before(step) {
            break;
        }
        let mut seen = Totals::default();
        // Another order in every pass.
        for batch in training.iter()? {
            seen.add(&trainer.train(&batch?, plan.rate(step))?);
            step += 1;
            if plan.ends_before(step) {
                break;
            }
        }
        let (loss, accuracy) = seen.means();
        println!(
            "epoch {epoch}/{}  loss {loss:.4}  accuracy {accuracy:.4}",
            plan.epochs
        );
    }
    Ok(())
}

fn accuracy(trainer: &mut Trainer<'_>, test: &Dataset) -> mdist::Result<f64> {
    let mut seen = Totals::default();
    for batch in test.iter()? {
        seen.add(&trainer.evaluate(&batch?)?);
    }
    Ok(seen.means().1)
}

fn work(options: &Options) -> Result<(), Box<dyn Error>> {
    let training_set = MnistSet::load(&options.data, "train")?;
    let test_set = MnistSet::load(&options.data, "t10k")?;
    // One thread per replica: more threads would sum in another order, with other bits.
    blas::set_threads(1);

    let strategy = Strategy::new(&configuration(options)?)?;
    let plan = Plan::new(options, training_set.count());
    println!(
        "{} images, {} replicas, batches of {}",
        training_set.count(),
        strategy.replica_count(),
        options.batch
    );
    let training =
        strategy.distribute_dataset(&batches(training_set, options.batch, Some(SHUFFLE_SEED))?)?;
    let test = strategy.distribute_dataset(&batches(test_set, options.batch, None)?)?;

    let mut trainer = Trainer::new(&strategy, options.batch as usize)?;
    train(&mut trainer, &training, &plan)?;
    let accuracy = accuracy(&mut trainer, &test)?;

    let digest = trainer.digest(0)?;
    for replica in 1..strategy.local_replica_count() {
        if trainer.digest(replica)? != digest {
            return Err(
                format!("replica {replica} ended with other weights than replica 0").into(),
            );
        }
    }
    println!("weights digest: {digest:016x}");
    println!("test accuracy: {accuracy:.4}");
    Ok(())
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS, // --help
        Err(sentence) => {
            eprintln!("fashion_mnist: {sentence}; --help lists the options");
            return ExitCode::from(2);
        }
    };
    match work(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fashion_mnist: {error}");
            ExitCode::FAILURE
        }
    }
}
