// SPDX-License-Identifier: Apache-2.0
//! A perceptron 784-128-10 (ReLU, softmax, cross-entropy) on plain slices. It does not
//! depend on replicas. Gradients and totals are sums over its rows, so their sums over replicas are
//! sums over the batch.
use crate::blas::{exp, log, multiply, Matrix};
use crate::mnist::{CLASSES, PIXELS};

const HIDDEN: usize = 128;

/// The arrays of parameters, in this order everywhere. Weights are [from][to], row-major.
pub const PARTS: [(&str, &[usize]); 4] = [
    ("hidden/weights", &[PIXELS, HIDDEN]),
    ("hidden/bias", &[HIDDEN]),
    ("output/weights", &[HIDDEN, CLASSES]),
    ("output/bias", &[CLASSES]),
];

pub fn elements(part: usize) -> usize {
    PARTS[part].1.iter().product()
}

/// One slice for each part.
pub type Parameters<'a> = [&'a [f32]; 4];

/// The totals that are summed over rows, beside the gradients: loss, correct answers, rows.
#[derive(Clone, Copy, Default)]
pub struct Totals(pub [f64; 3]);

impl Totals {
    pub fn rows(&self) -> f64 {
        self.0[2]
    }
    pub fn add(&mut self, other: &Totals) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(sum, more)| *sum += more);
    }
    /// Returns the mean loss and the accuracy.
    pub fn means(&self) -> (f64, f64) {
        (self.0[0] / self.rows(), self.0[1] / self.rows())
    }
}

/// Sets random weights by He's rule and zero biases. They depend on the seed only.
pub fn initial_parameters(seed: u64) -> [Vec<f32>; 4] {
    let mut state = seed;
    let mut random = |part: usize, inputs: usize| {
        // Uniform within +-sqrt(6 / inputs), whose variance 2 / inputs keeps a ReLU layer's signal
        // at its size.
        let bound = (6.0 / inputs as f32).sqrt();
        let mut weight =
            || bound * (2.0 * ((next_random(&mut state) >> 40) as f32 / 16777216.0) - 1.0);
        (0..elements(part)).map(|_| weight()).collect()
    };
    let (hidden, output) = (random(0, PIXELS), random(2, HIDDEN));
    [hidden, vec![0.0; HIDDEN], output, vec![0.0; CLASSES]]
}

/// splitmix64.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e3779b97f4a7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d049bb133111eb);
    bits ^ (bits >> 31)
}

/// Activations and their gradients for up to a fixed number of images.
pub struct Workspace {
    hidden: Vec<f32>,
    hidden_gradient: Vec<f32>,
    output: Vec<f32>, // logits, then their gradient
}

impl Workspace {
    pub fn new(max_rows: usize) -> Workspace {
        let zeros = |columns| vec![0.0; max_rows * columns];
        Workspace {
            hidden: zeros(HIDDEN),
            hidden_gradient: zeros(HIDDEN),
            output: zeros(CLASSES),
        }
    }

    /// Sums the loss and counts correct answers.
    pub fn evaluate(
        &mut self,
        parameters: Parameters<'_>,
        images: &[f32],
        labels: &[u8],
    ) -> Totals {
        let rows = labels.len();
        let mut totals = Totals::default();
        if rows == 0 {
            return totals;
        }
        let hidden = &mut self.hidden[..rows * HIDDEN];
        let output = &mut self.output[..rows * CLASSES];
        forward(images, parameters[0], parameters[1], hidden);
        hidden.iter_mut().for_each(|unit| *unit = unit.max(0.0));
        forward(hidden, parameters[2], parameters[3], output);
        for (logits, &label) in output.chunks_exact_mut(CLASSES).zip(labels) {
            softmax_cross_entropy(logits, usize::from(label), &mut totals);
        }
        totals
    }

    /// Does the same, and overwrites gradients with those of the summed loss. It cannot compute the
    /// mean, because only the caller knows the rows of all replicas.
    pub fn gradients(
        &mut self,
        parameters: Parameters<'_>,
        images: &[f32],
        labels: &[u8],
        gradients: &mut [Vec<f32>; 4],
    ) -> Totals {
        let totals = self.evaluate(parameters, images, labels);
        let rows = labels.len();
        if rows == 0 {
            gradients.iter_mut().for_each(|part| part.fill(0.0));
            return totals;
        }
        let [hidden_weights, hidden_bias, output_weights, output_bias] = gradients;
        let hidden = &self.hidden[..rows * HIDDEN];
        let output = &self.output[..rows * CLASSES];
        backward(hidden, output, output_weights, output_bias);
        let hidden_gradient = &mut self.hidden_gradient[..rows * HIDDEN];
        multiply(
            Matrix::new(output, CLASSES),
            Matrix::new(parameters[2], CLASSES).turned(),
            0.0,
            hidden_gradient,
        );
        for (gradient, &unit) in hidden_gradient.iter_mut().zip(hidden) {
            if unit <= 0.0 {
                *gradient = 0.0;
            }
        }
        backward(images, hidden_gradient, hidden_weights, hidden_bias);
        totals
    }
}

/// result = input * weights + bias in every row
fn forward(input: &[f32], weights: &[f32], bias: &[f32], result: &mut [f32]) {
    let outputs = bias.len();
    result
        .chunks_exact_mut(outputs)
        .for_each(|row| row.copy_from_slice(bias));
    multiply(
        Matrix::new(input, weights.len() / outputs),
        Matrix::new(weights, outputs),
        1.0,
        result,
    );
}

/// weights_gradient = input^T * output_gradient; bias_gradient = its column sums
fn backward(
    input: &[f32],
    output_gradient: &[f32],
    weights_gradient: &mut [f32],
    bias_gradient: &mut [f32],
) {
    let outputs = bias_gradient.len();
    let inputs = weights_gradient.len() / outputs;
    multiply(
        Matrix::new(input, inputs).turned(),
        Matrix::new(output_gradient, outputs),
        0.0,
        weights_gradient,
    );
    bias_gradient.fill(0.0);
    for row in output_gradient.chunks_exact(outputs) {
        bias_gradient
            .iter_mut()
            .zip(row)
            .for_each(|(sum, gradient)| *sum += gradient);
    }
}

/// Replaces one row's logits by the gradient of the cross-entropy (softmax minus the right answer).
/// Adds to the totals.
fn softmax_cross_entropy(logits: &mut [f32], label: usize, totals: &mut Totals) {
    let mut answer = 0;
    for i in 1..CLASSES {
        if logits[i] > logits[answer] {
            answer = i;
        }
    }
    let largest = logits[answer];
    let right = logits[label] - largest;
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = exp(*logit - largest);
        sum += *logit;
    }
    logits.iter_mut().for_each(|logit| *logit /= sum);
    logits[label] -= 1.0;
    totals.add(&Totals([
        f64::from(log(sum) - right),
        f64::from(u8::from(answer == label)),
        1.0,
    ]));
}

/// Does one step of SGD with momentum on one part. `scale` multiplies the summed gradients: 1 /
/// rows gives their mean.
pub fn update(
    parameters: &mut [f32],
    momentum: &mut [f32],
    gradients: &[f32],
    scale: f32,
    rate: f32,
    decay: f32,
) {
    for ((parameter, momentum), gradient) in parameters.iter_mut().zip(momentum).zip(gradients) {
        // The momentum of units that never fire would become subnormal. Subnormal numbers are slow.
        let next = decay * *momentum + scale * gradient;
        *momentum = if next.abs() < f32::MIN_POSITIVE {
            0.0
        } else {
            next
        };
        *parameter -= rate * *momentum;
    }
}
