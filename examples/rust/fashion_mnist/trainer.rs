// SPDX-License-Identifier: Apache-2.0
//! The model on a strategy. Parameters and momentum are mirrored variables. Their copies are equal
//! between steps, because all replicas apply the same reduced gradients.
use std::ops::Deref;

use mdist::{
    CopyMut, CopyRef, Element, Op, Replica, Result, Run, SliceMut, Strategy, Tensor, Value,
    Variable, VariableOptions,
};

use crate::model::{elements, initial_parameters, update, Parameters, Totals, Workspace, PARTS};

const INITIAL_SEED: u64 = 1;
const DECAY: f32 = 0.9; // momentum is multiplied by this in each step

pub struct Trainer<'s> {
    strategy: &'s Strategy,
    parameters: Vec<Variable>,
    momentum: Vec<Variable>,
    scratch: Vec<Scratch>, // one per local replica
}

/// Scratch memory of one replica.
struct Scratch {
    workspace: Workspace,
    gradients: [Vec<f32>; 4],
    totals: Totals,
}

impl Scratch {
    fn new(max_rows: usize) -> Scratch {
        let gradients = [0, 1, 2, 3].map(|part| vec![0.0; elements(part)]);
        Scratch {
            workspace: Workspace::new(max_rows),
            gradients,
            totals: Totals::default(),
        }
    }
}

impl<'s> Trainer<'s> {
    /// `max_rows` is the largest number of rows that a replica gets in a step.
    pub fn new(strategy: &'s Strategy, max_rows: usize) -> Result<Trainer<'s>> {
        let (mut parameters, mut momentum) = (Vec::new(), Vec::new());
        for ((name, shape), initial) in PARTS.iter().zip(initial_parameters(INITIAL_SEED)) {
            parameters.push(strategy.variable(
                name,
                Tensor::new(&initial, shape)?,
                VariableOptions::default(),
            )?);
        }
        for (name, shape) in PARTS {
            let name = format!("{name}/momentum");
            momentum.push(strategy.zeros(
                &name,
                f32::dtype(),
                shape,
                VariableOptions::default(),
            )?);
        }
        let scratch = (0..strategy.local_replica_count())
            .map(|_| Scratch::new(max_rows))
            .collect();
        Ok(Trainer {
            strategy,
            parameters,
            momentum,
            scratch,
        })
    }

    /// Runs one step on a batch {images, labels}.
    pub fn train(&mut self, batch: &[Value], rate: f32) -> Result<Totals> {
        let (parameters, momentum) = (&self.parameters, &self.momentum);
        self.strategy.run_each(
            Run::new().arguments(batch),
            &mut self.scratch,
            |replica, mine| {
                let (images, labels) = rows(replica)?;
                let mut weights = copies_mut(replica, parameters)?;
                mine.totals =
                    mine.workspace
                        .gradients(slices(&weights), images, labels, &mut mine.gradients);

                // One operation sums the gradients and the number of rows. Dividing by the rows of
                // all replicas gives the mean over the batch, even if the replicas have different
                // numbers of rows, or none.
                let mut buffers: Vec<_> = mine
                    .gradients
                    .iter_mut()
                    .map(|part| SliceMut::new(part))
                    .collect();
                buffers.push(SliceMut::new(&mut mine.totals.0));
                replica.all_reduce(Op::Sum, &mut buffers[..])?;

                // The reduced gradients have the same bits on every replica, so the copies stay
                // equal.
                let scale = (1.0 / mine.totals.rows()) as f32;
                let mut momentum = copies_mut(replica, momentum)?;
                for ((weights, momentum), gradients) in
                    weights.iter_mut().zip(&mut momentum).zip(&mine.gradients)
                {
                    update(weights, momentum, gradients, scale, rate, DECAY);
                }
                Ok(())
            },
        )?;
        Ok(self.scratch[0].totals)
    }

    /// Returns the same totals, and does not train.
    pub fn evaluate(&mut self, batch: &[Value]) -> Result<Totals> {
        let parameters = &self.parameters;
        self.strategy.run_each(
            Run::new().arguments(batch),
            &mut self.scratch,
            |replica, mine| {
                let (images, labels) = rows(replica)?;
                let weights = copies(replica, parameters)?;
                mine.totals = mine.workspace.evaluate(slices(&weights), images, labels);
                Ok(replica.all_reduce(Op::Sum, &mut mine.totals.0)?)
            },
        )?;
        Ok(self.scratch[0].totals)
    }

    /// Returns the 64-bit FNV-1a hash over all variables of a local replica, in the order of their
    /// creation.
    pub fn digest(&self, local_replica: u32) -> Result<u64> {
        let mut digest = 0xcbf29ce484222325_u64;
        for variable in self.parameters.iter().chain(&self.momentum) {
            let copy: CopyRef<'_, f32> = variable.copy(local_replica)?;
            for byte in copy.iter().flat_map(|element| element.to_ne_bytes()) {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x100000001b3);
            }
        }
        Ok(digest)
    }
}

/// Returns this replica's part of the batch.
fn rows<'a>(replica: &'a Replica<'_>) -> Result<(&'a [f32], &'a [u8])> {
    Ok((
        replica.argument(0)?.as_slice()?,
        replica.argument(1)?.as_slice()?,
    ))
}

fn copies<'v>(replica: &Replica<'_>, variables: &'v [Variable]) -> Result<Vec<CopyRef<'v, f32>>> {
    variables
        .iter()
        .map(|variable| replica.copy(variable))
        .collect()
}

fn copies_mut<'v>(
    replica: &Replica<'_>,
    variables: &'v [Variable],
) -> Result<Vec<CopyMut<'v, f32>>> {
    variables
        .iter()
        .map(|variable| replica.copy_mut(variable))
        .collect()
}

fn slices<C: Deref<Target = [f32]>>(copies: &[C]) -> Parameters<'_> {
    [&copies[0], &copies[1], &copies[2], &copies[3]]
}
