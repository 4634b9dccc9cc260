// SPDX-License-Identifier: Apache-2.0
//! Makes batches of images in memory.
use mdist::{Array, Dataset, Output, Result, StepResult, Tensor, TensorMut, UNKNOWN_LENGTH};

use crate::mnist::{MnistSet, PIXELS};

/// Batches {f32 images [rows][784], u8 labels [rows]}; the last one may be short. Pixels
/// are from 0 to 1. With a seed, each iteration has another order.
pub fn batches(set: MnistSet, batch: u64, shuffle_seed: Option<u64>) -> Result<Dataset> {
    let count = set.count();
    let mut rows = Dataset::from_arrays(vec![
        Array::new(set.images, &[count, PIXELS])?,
        Array::new(set.labels, &[count])?,
    ])?;
    if let Some(seed) = shuffle_seed {
        rows = rows.shuffle(count as u64, seed, true)?;
    }
    let normalised = [
        Output::new::<f32>(&[UNKNOWN_LENGTH, PIXELS]),
        Output::new::<u8>(&[UNKNOWN_LENGTH]),
    ];
    rows.batch(batch, false)?
        .map(&normalised, normalise)?
        .prefetch(2)
}

/// Converts bytes to floats, batch by batch. 60000 images as floats would need 188 MB.
fn normalise(inputs: &[Tensor<'_>], outputs: &mut [TensorMut<'_>]) -> StepResult {
    let pixels = inputs[0].as_slice::<u8>()?;
    for (image, &pixel) in outputs[0].as_mut_slice::<f32>()?.iter_mut().zip(pixels) {
        *image = f32::from(pixel) * (1.0 / 255.0);
    }
    outputs[1]
        .as_mut_slice()?
        .copy_from_slice(inputs[1].as_slice::<u8>()?);
    Ok(())
}
