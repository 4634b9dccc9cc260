// SPDX-License-Identifier: Apache-2.0
// The part of math_cross_entropy() for one row, the same on the CPU and in a kernel.
#pragma once

#include <math.h>
#include <stddef.h>

#ifdef __CUDACC__
#define MATH_BOTH __host__ __device__
#else
#define MATH_BOTH
#endif

typedef struct RowLoss {
    float loss;
    int correct; // whether the label has the largest logit
} RowLoss;

// Replaces a row's logits by the gradient of the loss.
MATH_BOTH static inline RowLoss softmax_row(float *logits, size_t classes, size_t label) {
    size_t answer = 0;
    for (size_t i = 1; i < classes; ++i)
        if (logits[i] > logits[answer]) answer = i;
    const float largest = logits[answer];
    const float right = logits[label] - largest;
    float sum = 0.0f;
    for (size_t i = 0; i < classes; ++i) sum += logits[i] = expf(logits[i] - largest);
    for (size_t i = 0; i < classes; ++i) logits[i] /= sum;
    logits[label] -= 1.0f;
    RowLoss row;
    row.loss = logf(sum) - right;
    row.correct = answer == label;
    return row;
}
