// SPDX-License-Identifier: Apache-2.0
// Model: a perceptron 784-128-10 (ReLU, softmax, cross-entropy) on memory of a Math. It knows nothing of replicas:
// gradients and totals are sums over the rows it is given, so that sums over replicas are sums over the whole batch.
// Functions may run at the same time on several threads, each with its own workspace and outputs.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../math/device_math.h"

enum { MODEL_INPUTS = 784, MODEL_HIDDEN = 128, MODEL_CLASSES = 10 };

// The four arrays of parameters. Weights are [from][to], row-major. Momentum and gradients have the same four.
enum { HIDDEN_WEIGHTS, HIDDEN_BIAS, OUTPUT_WEIGHTS, OUTPUT_BIAS, MODEL_PARTS };

typedef struct ModelPart {
    const char *name;
    size_t rank;
    uint64_t shape[2];
    size_t elements;
} ModelPart;

extern const ModelPart model_parts[MODEL_PARTS];

// The sums over rows beside the gradients: TOTAL_LOSS, TOTAL_CORRECT, TOTAL_ROWS.
enum { MODEL_TOTALS = MATH_TOTALS };

// Activations of up to max_rows images, and their gradients.
typedef struct ModelWorkspace {
    Math *math;             // the device that computes all of it
    float *hidden;          // [max_rows][MODEL_HIDDEN]
    float *hidden_gradient; // [max_rows][MODEL_HIDDEN]
    float *output;          // [max_rows][MODEL_CLASSES]: logits, then their gradient
} ModelWorkspace;

// Returns 0, or -1 without memory.
int model_workspace_create(Math *math, size_t max_rows, ModelWorkspace *out);
void model_workspace_destroy(ModelWorkspace *workspace);

// Writes random weights (by He's rule) and zero biases to host memory. A seed gives the same numbers on every machine.
void model_initialise(float *const parameters[MODEL_PARTS], uint64_t seed);

// Adds up loss and correct answers. rows may be 0; then the totals are 0.
void model_evaluate(const float *const parameters[MODEL_PARTS], const float *images, const uint8_t *labels, size_t rows,
                    const ModelWorkspace *workspace, double totals[MODEL_TOTALS]);

// The same. Also overwrites gradients with those of the summed loss (not the mean, since only the caller knows the rows
// of all replicas).
void model_gradients(const float *const parameters[MODEL_PARTS], const float *images, const uint8_t *labels,
                     size_t rows, const ModelWorkspace *workspace, float *const gradients[MODEL_PARTS],
                     double totals[MODEL_TOTALS]);

// Takes one step of SGD with momentum along the mean gradient: the summed gradients divided by *rows.
void model_update(Math *math, float *const parameters[MODEL_PARTS], float *const momentum[MODEL_PARTS],
                  const float *const gradients[MODEL_PARTS], const double *rows, float rate, float decay);
