// SPDX-License-Identifier: Apache-2.0
//! Measures the cost of a run with an empty step, with closures and with entered replicas.
//! `overhead --replicas N --runs M` prints the best of 5 blocks of M runs.
use std::error::Error;
use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use mdist::{Config, OpenRun, Run, Strategy};

const BLOCKS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let (replicas, runs) = options()?;
    let mut config = Config::new()?;
    config.set("devices", &format!("cpu*{replicas}"))?;
    let strategy = Strategy::new(&config)?;
    report("callback", replicas, runs, || strategy.run(|_| Ok(())))?;
    entered(&strategy, replicas, runs)
}

fn options() -> Result<(usize, usize), Box<dyn Error>> {
    let (mut replicas, mut runs) = (2, 10_000);
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let number = words
            .next()
            .ok_or_else(|| format!("{name}: needs a number"))?;
        let option = match &name[..] {
            "--replicas" => &mut replicas,
            "--runs" => &mut runs,
            _ => {
                return Err(
                    format!("{name}: no such option; there are --replicas N and --runs M").into(),
                )
            }
        };
        *option = number
            .parse()
            .ok()
            .filter(|&number| number > 0)
            .ok_or(format!("{name} {number}: not a number"))?;
    }
    Ok((replicas, runs))
}

fn report(
    way: &str,
    replicas: usize,
    runs: usize,
    mut run: impl FnMut() -> mdist::Result<()>,
) -> Result<(), Box<dyn Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..BLOCKS {
        let start = Instant::now();
        for _ in 0..runs {
            run()?;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / runs as f64);
    }
    println!("rust {way} replicas={replicas} ns_per_run={best:.0}");
    Ok(())
}

/// Synchronizes the threads that stay between runs. There is one for each replica except replica 0,
/// which this thread runs. A thread polls `begun` for the next run, and counts itself in `left`.
struct Gate<'s> {
    open: Mutex<Option<Arc<OpenRun<'s>>>>,
    begun: AtomicUsize,
    left: AtomicUsize,
}

fn entered(strategy: &Strategy, replicas: usize, runs: usize) -> Result<(), Box<dyn Error>> {
    let gate = Gate {
        open: Mutex::new(None),
        begun: AtomicUsize::new(0),
        left: AtomicUsize::new(0),
    };
    let total = BLOCKS * runs;
    thread::scope(|scope| {
        for replica in 1..replicas {
            let gate = &gate;
            scope.spawn(move || serve(gate, replica as u32, total));
        }
        let measured = report("entered", replicas, runs, || {
            let open = Arc::new(strategy.begin(Run::new())?);
            gate.left.store(0, Ordering::Relaxed);
            *gate.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(open.clone());
            gate.begun.fetch_add(1, Ordering::Release);
            open.step(0, |_| Ok(()))?;
            wait_until(|| gate.left.load(Ordering::Acquire) == replicas - 1);
            *gate.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
            Arc::try_unwrap(open)
                .ok()
                .expect("all others have left")
                .end()
                .map(drop)
        });
        gate.begun.store(total, Ordering::Release); // after a failure, the threads find no open run
        measured
    })
}

fn serve(gate: &Gate<'_>, replica: u32, runs: usize) {
    for run in 1..=runs {
        wait_until(|| gate.begun.load(Ordering::Acquire) >= run);
        let open = gate
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // The end of the run returns a failure.
        let _ = open.as_ref().map(|open| open.step(replica, |_| Ok(())));
        drop(open);
        gate.left.fetch_add(1, Ordering::Release);
    }
}

fn wait_until(ready: impl Fn() -> bool) {
    let mut looks = 0;
    while !ready() {
        looks += 1;
        if looks % 1000 == 0 {
            thread::yield_now();
        }
        hint::spin_loop();
    }
}
