// SPDX-License-Identifier: Apache-2.0
//! Every call that takes arrays takes every type of element.
mod common;

use std::fmt::Debug;

use common::strategy;
use mdist::{
    Array, Assign, Bf16, Bool, Dataset, Element, GradientsOptions, Like, Memory, Op, Operator,
    Output, Replica, Run, StepResult, Strategy, Tensor, Value, VariableOptions, F16,
};

/// A type: two of its numbers, and an operation that makes the second of both.
struct Case<T> {
    low: T,
    high: T,
    op: Op,
}

fn same<T: PartialEq + Debug>(call: &str, found: &[T], expected: &[T]) -> StepResult {
    if found == expected {
        return Ok(());
    }
    Err(format!("{call}: {found:?}, not {expected:?}").into())
}

impl<T: Element + PartialEq + Debug> Case<T> {
    fn blocking(&self, replica: &Replica<'_>) -> StepResult {
        let (low, high, op) = (self.low, self.high, self.op);
        let own = [low, high][replica.id() as usize];
        let (both, first) = ([low, high], replica.id() == 0);
        let (mut one, mut two) = ([own], [low; 2]);
        replica.all_reduce(op, &mut one)?;
        same("all_reduce", &one, &[high])?;
        one = [own];
        replica.broadcast(1, &mut one)?;
        same("broadcast", &one, &[high])?;
        replica.all_gather(&[own], &mut two)?;
        same("all_gather", &two, &both)?;
        replica.reduce_scatter(op, &[high, own], &mut one)?;
        same("reduce_scatter", &one, &[high])?;
        replica.all_to_all(&both, &mut two)?;
        same("all_to_all", &two, &[own; 2])?;
        replica.all_to_all_parts(&both, &[1, 1], &mut two, &[1, 1])?;
        same("all_to_all_parts", &two, &[own; 2])?;
        one = [own];
        replica.reduce_to_root(op, 1, &mut one)?;
        same("reduce_to_root", &one, &[if first { low } else { high }])?;
        replica.gather_to_root(0, &[own], &mut two[..if first { 2 } else { 0 }])?;
        let expected = if first { both } else { [high; 2] };
        same("gather_to_root", &two, &expected)?;
        replica.scatter(0, if first { &both[..] } else { &[] }, &mut one)?;
        same("scatter", &one, &[own])?;
        let sending = replica.send_start(1 - replica.id(), 1, vec![own])?;
        replica.receive(1 - replica.id(), 1, &mut one)?;
        sending.wait()?;
        same("receive", &one, &[if first { high } else { low }])
    }

    fn started(&self, replica: &Replica<'_>) -> StepResult {
        let (low, high, op) = (self.low, self.high, self.op);
        let own = [low, high][replica.id() as usize];
        let (both, first) = (vec![low, high], replica.id() == 0);
        let one = || vec![own];
        let zeros = || vec![low; 2];
        let found = replica.all_reduce_start(op, one())?.wait()?;
        same("all_reduce_start", &found, &[high])?;
        let found = replica.broadcast_start(1, one())?.wait()?;
        same("broadcast_start", &found, &[high])?;
        let found = replica.all_gather_start(one(), zeros())?.wait()?;
        same("all_gather_start", &found.1, &both)?;
        let given = vec![high, own];
        let found = replica.reduce_scatter_start(op, given, one())?.wait()?;
        same("reduce_scatter_start", &found.1, &[high])?;
        let found = replica.all_to_all_start(both.clone(), zeros())?.wait()?;
        same("all_to_all_start", &found.1, &[own; 2])?;
        let work = replica.all_to_all_parts_start(both.clone(), &[1, 1], zeros(), &[1, 1])?;
        same("all_to_all_parts_start", &work.wait()?.1, &[own; 2])?;
        let found = replica.reduce_to_root_start(op, 0, one())?.wait()?;
        same("reduce_to_root_start", &found, &[high])?;
        let room = if first { zeros() } else { vec![] };
        let (_, found) = replica.gather_to_root_start(0, one(), room)?.wait()?;
        same(
            "gather_to_root_start",
            &found,
            if first { &both } else { &[] },
        )?;
        let given = if first { both } else { vec![] };
        let found = replica.scatter_start(0, given, one())?.wait()?;
        same("scatter_start", &found.1, &[own])?;
        let receiving = replica.receive_start(1 - replica.id(), 2, one())?;
        replica.send(1 - replica.id(), 2, &[own])?;
        same(
            "receive_start",
            &receiving.wait()?,
            &[if first { high } else { low }],
        )
    }

    fn prepared(&self, strategy: &Strategy) -> StepResult {
        let own = |local: u32| vec![[self.low, self.high][local as usize]];
        let mut calls: Vec<_> = (0..2)
            .map(|local| strategy.prepare(local).all_reduce(self.op, own(local)))
            .collect::<Result<_, _>>()?;
        strategy.run_each(Run::new(), &mut calls, |replica, call| {
            call.run(replica)?;
            same("a prepared call", call.buffer::<T>(0)?, &[self.high])
        })?;
        Ok(())
    }

    fn values(&self, strategy: &Strategy) -> StepResult {
        let both = [self.low, self.high];
        let content = |value: &Value| -> Result<Vec<T>, mdist::Error> {
            Ok(value.tensor(0)?.as_slice::<T>()?.to_vec())
        };
        same("Value::new", &content(&Value::new(&both[..])?)?, &both)?;
        let wrapped = Value::try_from(Array::new(both.to_vec(), &[2])?)?;
        same("a value of an array", &content(&wrapped)?, &both)?;
        let zeros = content(&Value::zeros(T::dtype(), &[2])?)?;
        same("Value::zeros", &zeros, &[T::default(); 2])?;
        let each = strategy.per_replica(&[
            Tensor::new(&both[..1], &[1])?,
            Tensor::new(&both[1..], &[1])?,
        ])?;
        same("gather", &content(&strategy.gather(&each, 0)?)?, &both)?;
        same(
            "reduce",
            &content(&strategy.reduce(self.op, &each, &[])?)?,
            &[self.high],
        )?;
        let arguments = [strategy.broadcast_to(&both[..])?];
        let run = Run::new().arguments(&arguments).results(1);
        let results = strategy.run_with(run, |replica| {
            let argument = replica.argument(0)?;
            same("an argument", argument.as_slice::<T>()?, &both)?;
            replica.set_result(0, argument)?;
            if self.op == Op::Or {
                return Ok(()); // rows are summed, and truth values cannot be
            }
            let indices = [i64::from(replica.id())];
            let rows = Tensor::new(&both[..1], &[1, 1])?;
            let sum = replica.all_reduce_sparse(Op::Sum, &indices[..], rows)?;
            same("all_reduce_sparse", &content(&sum)?, &[self.low; 2])
        })?;
        same(
            "a result",
            &content(results[0].as_ref().ok_or("no result")?)?,
            &both,
        )?;
        let mut memory = Memory::<T>::new(2)?;
        memory.copy_from_slice(&both);
        same("memory of the library", &memory, &both)
    }

    fn variables(&self, strategy: &Strategy) -> StepResult {
        let (low, high) = (self.low, self.high);
        let name = format!("of {}", T::dtype());
        let variable = strategy.variable(&name, &[low, low][..], VariableOptions::default())?;
        variable.assign(Assign::Set, &Value::new(&[low, high][..])?)?;
        same("assign", &variable.copy::<T>(1)?, &[low, high])?;
        variable.update(&[], |_, copy, _| {
            copy.as_mut_slice::<T>()?[0] = high;
            Ok(())
        })?;
        same("update", &variable.copy::<T>(0)?, &[high; 2])?;
        strategy.run(|replica| {
            replica.copy_mut::<T>(&variable)?[1] = low;
            same(
                "a copy in a step",
                &replica.copy::<T>(&variable)?,
                &[high, low],
            )
        })?;
        let read = variable.read()?;
        same("read", read.tensor(0)?.as_slice::<T>()?, &[high, low])
    }

    fn data(&self) -> StepResult {
        let (low, high) = (self.low, self.high);
        let rows = Dataset::from_arrays(vec![Array::new(vec![low, high], &[2])?])?;
        let outputs = [Output::new::<T>(&[])];
        let mapped = rows.map(&outputs, move |inputs, outputs| {
            outputs[0].as_mut_slice::<T>()?[0] = inputs[0].as_slice::<T>()?[0];
            Ok(())
        })?;
        let generated = Dataset::from_generator(&outputs, move || {
            let mut left = vec![high, low];
            Ok(move |outputs: &mut [mdist::TensorMut<'_>]| {
                let next = left.pop();
                if let Some(next) = next {
                    outputs[0].as_mut_slice::<T>()?[0] = next;
                }
                Ok(next.is_some())
            })
        })?;
        for (source, dataset) in [
            ("arrays", rows),
            ("a map", mapped),
            ("a generator", generated),
        ] {
            let batch = dataset
                .batch(2, false)?
                .iter()?
                .next()
                .ok_or("no element")??;
            same(source, batch[0].tensor(0)?.as_slice::<T>()?, &[low, high])?;
        }
        Ok(())
    }

    fn operators(&self, strategy: &Strategy) -> StepResult {
        let larger = Operator::new("right", |_: &[T; 1], right: &[T; 1]| *right)?;
        strategy.run(|replica| {
            let mut one = [[self.low, self.high][replica.id() as usize]];
            replica.all_reduce(&larger, &mut one)?;
            same("an operator", &one, &[self.high])
        })?;
        Ok(())
    }

    fn passes(self) {
        let strategy = strategy(2);
        strategy.run(|replica| self.blocking(replica)).unwrap();
        strategy.run(|replica| self.started(replica)).unwrap();
        self.prepared(&strategy).unwrap();
        self.values(&strategy).unwrap();
        self.variables(&strategy).unwrap();
        self.data().unwrap();
        self.operators(&strategy).unwrap();
    }
}

/// Gradients and losses are of floats.
fn floats_pass<T: Element + PartialEq + Debug>(
    one: T,
    expected: T,
    wide: impl Fn(&[T]) -> f64 + Sync,
) {
    let strategy = strategy(2);
    let gradients = strategy
        .gradients(&[Like::new::<T>(&[1])], GradientsOptions::default())
        .unwrap();
    let passed = strategy.run(|replica| {
        let (part, _) = replica.average_loss(&[one, one][..], None, None)?;
        same("average_loss", &[part], &[wide(&[one]) / 2.0])?;
        let mut own = replica.gradients(&gradients)?;
        own.as_mut_slice::<T>(0)?[0] = one;
        own.ready(0)?;
        own.wait()?;
        same("gradients", own.as_slice::<T>(0)?, &[expected])
    });
    passed.unwrap();
}

macro_rules! every_type {
    ($($type:ident: $low:expr, $high:expr, $op:ident;)*) => {
        mod takes {
            use super::*;
            $(#[test]
            #[allow(non_snake_case)]
            fn $type() {
                Case { low: $low, high: $high, op: Op::$op }.passes();
            })*
        }
    };
}
every_type! {
    f32: 1f32, 2.0, Max;
    f64: 1f64, 2.0, Max;
    F16: super::F16(0x3c00), super::F16(0x4000), Max;
    Bf16: super::Bf16(0x3f80), super::Bf16(0x4000), Max;
    i8: 1i8, 2, Max;
    u8: 1u8, 2, Max;
    i16: 1i16, 2, Max;
    u16: 1u16, 2, Max;
    Bool: super::Bool(0), super::Bool(1), Or;
    i32: 1i32, 2, Max;
    u32: 1u32, 2, Max;
    i64: 1i64, 2, Max;
    u64: 1u64, 2, Max;
}

#[test]
fn gradients_and_losses_take_every_float() {
    floats_pass(1f32, 2.0, |x| f64::from(x[0]));
    floats_pass(1f64, 2.0, |x| x[0]);
    floats_pass(F16(0x3c00), F16(0x4000), |_| 1.0);
    floats_pass(Bf16(0x3f80), Bf16(0x4000), |_| 1.0);
}
