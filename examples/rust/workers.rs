// SPDX-License-Identifier: Apache-2.0
//! What two workers of two replicas do together. Each is started with this program; with the argument
//! `in_graph`, one leads the other. `check` runs it.
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use mdist::{Config, Op, Operator, Run, StepResult, Strategy, Value, VariableOptions};

type Done = Result<(), Box<dyn std::error::Error>>;

fn equal<T: PartialEq + std::fmt::Debug>(left: T, right: T) -> StepResult {
    if left == right {
        Ok(())
    } else {
        Err(format!("{left:?} is not {right:?}").into())
    }
}

/// Operators, groups, parts, prepared calls and functions for the end of works.
fn together(strategy: &Strategy) -> Done {
    let compose = Operator::new("affine", |left: &[i64; 2], right: &[i64; 2]| {
        [left[0] * right[0], left[1] * right[0] + right[1]]
    })?;
    let crossed = strategy.group(&[3, 0])?; // of both workers
    let middle = strategy.group(&[2, 1])?; // of both workers, too
    let ends = Arc::new(AtomicU32::new(0));
    let mut calls = Vec::new();
    for local in 0..2 {
        let id = 2 * strategy.rank() + local;
        let own = strategy.prepare(local);
        let numbers = vec![i64::from(id) + 2, 3 * i64::from(id) + 1];
        let in_middle = match middle.position(id) {
            Some(_) => Some(own.in_group(&middle).all_reduce(&compose, numbers)?),
            None => None,
        };
        calls.push((own.all_reduce(Op::Sum, vec![id])?, in_middle));
    }
    drop(middle); // its calls keep what they need of it
    strategy.run_each(Run::new(), &mut calls, |replica, (call, in_middle)| {
        let id = replica.id();
        let mut own = [i64::from(id) + 2, 3 * i64::from(id) + 1];
        replica.all_reduce(&compose, &mut own)?;
        equal(own, [120, 185])?; // (2, 1), (3, 4), (4, 7), (5, 10), one after another
        if crossed.position(id).is_some() {
            let mut both = [0u32; 2];
            replica.in_group(&crossed).all_gather(&id, &mut both)?;
            equal(both, [3, 0])?;
        }
        let expected: Vec<u32> = (0..4).flat_map(|from| vec![from; id as usize]).collect();
        let mut taken = vec![9u32; expected.len()];
        replica.all_to_all_parts(&[id; 6], &[0, 1, 2, 3], &mut taken, &[u64::from(id); 4])?;
        equal(taken, expected)?;
        call.run(replica)?;
        equal(call.buffer::<u32>(0)?, &[6])?;
        if let Some(call) = in_middle {
            call.run(replica)?;
            equal(call.buffer::<i64>(0)?, &[12, 25])?; // (4, 7), then (3, 4)
        }
        let sending = replica.send_start((id + 1) % 4, 9, vec![id; 2000])?;
        let mut received = vec![9u32; 2000];
        replica.receive((id + 3) % 4, 9, &mut received)?;
        sending.wait()?;
        equal(received, vec![(id + 3) % 4; 2000])?;
        let work = replica.all_reduce_start(Op::Xor, vec![1i16 << id])?;
        let ends = ends.clone();
        work.on_done(move |end| {
            ends.fetch_add(if end.is_ok() { 1 } else { 9 }, Ordering::SeqCst);
        })?;
        equal(work.wait()?, vec![15])
    })?;
    assert_eq!(ends.load(Ordering::SeqCst), 2);
    println!("together");
    Ok(())
}

fn in_graph(strategy: &Strategy) -> Done {
    strategy.register_step("train", |replica| {
        let variable = replica.find_variable("w")?;
        let x = replica.argument(0)?.as_slice::<f32>()?[0];
        let sum = x + replica.copy::<f32>(&variable)?[0] + replica.id() as f32;
        Ok(replica.set_result(0, &[sum][..])?)
    })?;
    strategy.register_step("fail", |replica| match replica.id() {
        2 => Err("on replica 2".into()),
        _ => Ok(()),
    })?;
    strategy.register_update("subtract", |_, copy, arguments| {
        let copy = copy.expect("a variable's");
        copy.as_mut_slice::<f32>()?[0] -= arguments[0].as_slice::<f32>()?[0];
        Ok(Vec::new())
    })?;
    if strategy.rank() != 0 {
        let error = strategy.serve(Run::new()).unwrap_err();
        println!(
            "worker 1: {}",
            std::error::Error::source(&error).expect("a cause")
        );
        return Ok(());
    }
    let variable = strategy.variable("w", &[10f32][..], VariableOptions::default())?;
    let (one, half) = (Value::new(&[1f32][..])?, Value::new(&[0.5f32][..])?);
    strategy.update_named(Some(&variable), "subtract", &[&one], 0)?;
    let found = strategy.run_named("train", Run::new().arguments(&[&half]).results(1))?;
    let found = found[0].as_ref().expect("a result");
    for id in 0..4 {
        assert_eq!(found.tensor(id)?.as_slice::<f32>()?, [9.5 + id as f32]);
    }
    let error = strategy
        .run_named("fail", Run::new())
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().contains("on replica 2"), "{error}");
    println!("client: replica {:?} failed", error.replica());
    Ok(())
}

fn main() -> Done {
    // A key of the program's own: the config still knows the job, and the devices of the environment.
    let mut config = Config::new()?;
    config.set("communication.timeout", "100s")?;
    assert_eq!(config.get("devices")?, "cpu*2");
    assert_eq!(Config::empty()?.get("devices")?, "auto");
    let strategy = Strategy::new(&config)?;
    assert_eq!(strategy.worker_count(), 2);
    assert_eq!(strategy.rank().to_string(), std::env::var("MDIST_RANK")?);
    match std::env::args().nth(1).as_deref() {
        Some("in_graph") => in_graph(&strategy),
        _ => together(&strategy),
    }
}
