// SPDX-License-Identifier: Apache-2.0
//! An elastic training: the job goes on when a worker is killed, and ends with the same weights to the
//! last bit.
//!
//!     export MDIST_ELASTIC_REPLICAS=4
//!     mdist launch -n 1:2 -- elastic        # not disturbed
//!     mdist launch -n 1:2 -- elastic 17     # in step 17 worker 1 kills itself; a new one takes its place
use std::sync::{Arc, Mutex};

use mdist::{Dataset, Gradients, GradientsOptions, Like, Replica, Run};
use mdist::{StepResult, Strategy, Variable, VariableOptions, Verdict};

type Done<T = ()> = Result<T, Box<dyn std::error::Error>>;

const STEPS: u64 = 60;
const EVERY: u64 = 10;

struct Training {
    weight: Variable,
    gradients: Gradients,
    random: Arc<Mutex<Vec<u64>>>, // a generator for each replica id
    at: u64,
    deadly: Option<u64>, // in this step the worker kills itself
}

impl Training {
    fn step(&self, replica: &Replica<'_>) -> StepResult {
        if self.deadly == Some(self.at) {
            let own = std::process::id().to_string();
            std::process::Command::new("kill")
                .args(["-KILL", &own])
                .status()?;
            loop {
                std::thread::park();
            }
        }
        let id = replica.id() as usize;
        let mut state = self.random.lock().unwrap()[id];
        let mut weight = replica.copy_mut::<f32>(&self.weight)?;
        let mut own = replica.gradients(&self.gradients)?;
        let gradient = own.as_mut_slice::<f32>(0)?;
        gradient.fill(0.0);
        for &row in replica.argument(0)?.as_slice::<i64>()? {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let noise = (state >> 40) as f32 / 16777216.0 - 0.5;
            let x = row as f32 / 100.0;
            let error = weight[0] * x + weight[1] - (3.0 * x + 0.1 * noise);
            gradient[0] += error * x;
            gradient[1] += error;
        }
        own.ready(0)?;
        own.wait()?;
        for (weight, gradient) in weight.iter_mut().zip(own.as_slice::<f32>(0)?) {
            *weight -= 0.02 * gradient;
        }
        self.random.lock().unwrap()[id] = state;
        Ok(())
    }
}

/// Whether newcomers wait. All workers ask.
fn changed(strategy: &Strategy) -> Done<bool> {
    Ok(strategy.check_membership()?.0 == Verdict::Regroup)
}

fn main() -> Done {
    let kill: Option<u64> = std::env::args().nth(1).and_then(|step| step.parse().ok());
    let full: u32 = std::env::var("MDIST_ELASTIC_MAX_WORKERS")?.parse()?;
    let mut strategy = Strategy::from_environment()?;

    // Everything is created before the first step, on all workers alike, newcomers too.
    let weight = strategy.variable("weight", &[0f32; 2][..], VariableOptions::default())?;
    let gradients = strategy.gradients(&[Like::from(&weight)], GradientsOptions::default())?;
    let random = Arc::new(Mutex::new(vec![7u64; strategy.replica_count() as usize]));
    let (saved, restored) = (random.clone(), random.clone());
    let _blob = strategy.blob(
        "random",
        8,
        move |id, to| {
            to.copy_from_slice(&saved.lock().unwrap()[id as usize].to_ne_bytes());
            Ok(())
        },
        move |id, from| {
            restored.lock().unwrap()[id as usize] = u64::from_ne_bytes(from.try_into()?);
            Ok(())
        },
    )?;
    let rows = Dataset::range(0, 100, 1)?.shuffle(100, 5, true)?;
    let rows = strategy.distribute_dataset(&rows.repeat_forever()?.batch(8, false)?)?;
    let mut rows = rows.iter()?;

    let mut training = Training {
        weight,
        gradients,
        random,
        at: 0,
        deadly: kill.filter(|_| strategy.rank() == 1 && !strategy.is_joining()),
    };
    let mut regroup = strategy.is_joining();
    while regroup || training.at < STEPS {
        if regroup {
            let change = strategy.regroup()?; // fails if what failed was no loss of a worker
            training.at = change.step;
            training.deadly = None;
            // Not needed: the job could go on with those that are left.
            if change.worker_count < full {
                while !changed(&strategy)? {}
                strategy.commit(training.at)?;
                continue;
            }
        }
        // Whether to regroup: a worker was lost, or newcomers wait. After the last step, all meet here.
        let mut go_on = || -> Done<bool> {
            if training.at == STEPS {
                return changed(&strategy); // they have regrouped after the last step
            }
            let batch = rows.next().expect("it repeats")?;
            strategy.run_with(Run::new().arguments(&batch), |replica| {
                training.step(replica)
            })?;
            training.at += 1;
            if training.at % EVERY != 0 {
                return Ok(false);
            }
            strategy.commit(training.at)?;
            changed(&strategy)
        };
        regroup = go_on().unwrap_or(true);
    }
    let result = training.weight.copy::<f32>(0)?.to_vec();
    if strategy.is_chief() {
        println!("weights: {result:?}");
    }
    changed(&strategy)?; // all have read
    Ok(())
}
