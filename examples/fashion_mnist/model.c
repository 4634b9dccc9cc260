// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <math.h>
#include <string.h>

const ModelPart model_parts[MODEL_PARTS] = {
    [HIDDEN_WEIGHTS] = {"hidden/weights", 2, {MODEL_INPUTS, MODEL_HIDDEN}, MODEL_INPUTS *MODEL_HIDDEN},
    [HIDDEN_BIAS] = {"hidden/bias", 1, {MODEL_HIDDEN}, MODEL_HIDDEN},
    [OUTPUT_WEIGHTS] = {"output/weights", 2, {MODEL_HIDDEN, MODEL_CLASSES}, MODEL_HIDDEN *MODEL_CLASSES},
    [OUTPUT_BIAS] = {"output/bias", 1, {MODEL_CLASSES}, MODEL_CLASSES},
};

int model_workspace_create(Math *math, size_t max_rows, ModelWorkspace *out) {
    *out = (ModelWorkspace){.math = math};
    out->hidden = math_allocate(math, max_rows * MODEL_HIDDEN * sizeof(float));
    out->hidden_gradient = math_allocate(math, max_rows * MODEL_HIDDEN * sizeof(float));
    out->output = math_allocate(math, max_rows * MODEL_CLASSES * sizeof(float));
    if (out->hidden && out->hidden_gradient && out->output) return 0;
    model_workspace_destroy(out);
    return -1;
}

void model_workspace_destroy(ModelWorkspace *workspace) {
    if (!workspace->math) return;
    math_release(workspace->math, workspace->hidden);
    math_release(workspace->math, workspace->hidden_gradient);
    math_release(workspace->math, workspace->output);
    memset(workspace, 0, sizeof *workspace);
}

// splitmix64: small, good enough for weights, and the same on every machine, unlike rand().
static uint64_t next_random(uint64_t *state) {
    uint64_t bits = *state += 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

// Uniform within +-sqrt(6 / inputs), whose variance 2 / inputs keeps a ReLU layer's signal at its size.
static void fill_he(float *weights, size_t inputs, size_t outputs, uint64_t *state) {
    const float bound = sqrtf(6.0f / (float)inputs);
    for (size_t i = 0; i < inputs * outputs; ++i) {
        const float unit = (float)(next_random(state) >> 40) / 16777216.0f; // 24 bits: exact in a float
        weights[i] = bound * (2.0f * unit - 1.0f);
    }
}

void model_initialise(float *const parameters[MODEL_PARTS], uint64_t seed) {
    uint64_t state = seed;
    fill_he(parameters[HIDDEN_WEIGHTS], MODEL_INPUTS, MODEL_HIDDEN, &state);
    fill_he(parameters[OUTPUT_WEIGHTS], MODEL_HIDDEN, MODEL_CLASSES, &state);
    memset(parameters[HIDDEN_BIAS], 0, MODEL_HIDDEN * sizeof(float));
    memset(parameters[OUTPUT_BIAS], 0, MODEL_CLASSES * sizeof(float));
}

// result[rows][outputs] = input[rows][inputs] * weights[inputs][outputs] + bias in every row
static void layer_forward(Math *math, const float *input, const float *weights, const float *bias, float *result,
                          size_t rows, size_t inputs, size_t outputs) {
    math_repeat_row(math, bias, result, rows, outputs);
    math_multiply(math, 0, 0, rows, outputs, inputs, input, weights, 1.0f, result);
}

// weights_gradient = input^T * output_gradient; bias_gradient = its column sums
static void layer_backward(Math *math, const float *input, const float *output_gradient, float *weights_gradient,
                           float *bias_gradient, size_t rows, size_t inputs, size_t outputs) {
    math_multiply(math, 1, 0, inputs, outputs, rows, input, output_gradient, 0.0f, weights_gradient);
    math_sum_rows(math, output_gradient, bias_gradient, rows, outputs);
}

void model_evaluate(const float *const parameters[MODEL_PARTS], const float *images, const uint8_t *labels, size_t rows,
                    const ModelWorkspace *workspace, double totals[MODEL_TOTALS]) {
    Math *const math = workspace->math;
    if (rows == 0) {
        math_zero(math, totals, MODEL_TOTALS * sizeof totals[0]);
        return;
    }
    layer_forward(math, images, parameters[HIDDEN_WEIGHTS], parameters[HIDDEN_BIAS], workspace->hidden, rows,
                  MODEL_INPUTS, MODEL_HIDDEN);
    math_relu(math, workspace->hidden, rows * MODEL_HIDDEN);
    layer_forward(math, workspace->hidden, parameters[OUTPUT_WEIGHTS], parameters[OUTPUT_BIAS], workspace->output, rows,
                  MODEL_HIDDEN, MODEL_CLASSES);
    math_cross_entropy(math, workspace->output, labels, rows, MODEL_CLASSES, totals);
}

void model_gradients(const float *const parameters[MODEL_PARTS], const float *images, const uint8_t *labels,
                     size_t rows, const ModelWorkspace *workspace, float *const gradients[MODEL_PARTS],
                     double totals[MODEL_TOTALS]) {
    Math *const math = workspace->math;
    model_evaluate(parameters, images, labels, rows, workspace, totals);
    if (rows == 0) {
        for (int part = 0; part < MODEL_PARTS; ++part)
            math_zero(math, gradients[part], model_parts[part].elements * sizeof(float));
        return;
    }
    layer_backward(math, workspace->hidden, workspace->output, gradients[OUTPUT_WEIGHTS], gradients[OUTPUT_BIAS], rows,
                   MODEL_HIDDEN, MODEL_CLASSES);
    math_multiply(math, 0, 1, rows, MODEL_HIDDEN, MODEL_CLASSES, workspace->output, parameters[OUTPUT_WEIGHTS], 0.0f,
                  workspace->hidden_gradient);
    math_relu_gradient(math, workspace->hidden, workspace->hidden_gradient, rows * MODEL_HIDDEN);
    layer_backward(math, images, workspace->hidden_gradient, gradients[HIDDEN_WEIGHTS], gradients[HIDDEN_BIAS], rows,
                   MODEL_INPUTS, MODEL_HIDDEN);
}

void model_update(Math *math, float *const parameters[MODEL_PARTS], float *const momentum[MODEL_PARTS],
                  const float *const gradients[MODEL_PARTS], const double *rows, float rate, float decay) {
    for (int part = 0; part < MODEL_PARTS; ++part)
        math_momentum(math, parameters[part], momentum[part], gradients[part], model_parts[part].elements, rows, rate,
                      decay);
}
