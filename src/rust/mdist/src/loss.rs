// SPDX-License-Identifier: Apache-2.0
//! Losses: a replica's part of the loss over the whole batch.
use std::ptr;

use mdist_sys as sys;

use crate::error::{call, Result};
use crate::replica::Replica;
use crate::tensor::Tensor;

impl Replica<'_> {
    /// This replica's part of the mean loss over the examples of all replicas, so that the sum over
    /// replicas is that mean; and the number of those examples, by which the gradient of an element
    /// is its weight divided. They are counted, by all replicas together, unless `global_batch` on
    /// all of them says how many there are.
    pub fn average_loss<'a>(
        &self,
        per_example: impl Into<Tensor<'a>>,
        weights: Option<Tensor<'_>>,
        global_batch: Option<u64>,
    ) -> Result<(f64, u64)> {
        let per_example = per_example.into();
        let weights = weights
            .as_ref()
            .map_or(ptr::null(), |weights| weights.raw() as *const _);
        let (mut batch, mut loss) = (global_batch.unwrap_or(0), 0.0);
        // Safety: readable tensors, or NULL.
        call(|error| unsafe {
            sys::mdist_average_loss(
                self.raw(),
                per_example.raw(),
                weights,
                &mut batch,
                &mut loss,
                ptr::null(),
                error,
            )
        })?;
        Ok((loss, batch))
    }

    /// The sum of `terms`, which are the same on all replicas, divided by the number of those.
    pub fn scale_regularization<'a>(&self, terms: impl Into<Tensor<'a>>) -> Result<f64> {
        let (terms, mut loss) = (terms.into(), 0.0);
        // Safety: a readable tensor.
        call(|error| unsafe {
            sys::mdist_scale_regularization(self.raw(), terms.raw(), &mut loss, error)
        })?;
        Ok(loss)
    }
}
