// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const ModelPart model_parts[MODEL_PARTS] = {
    [HIDDEN_WEIGHTS] = {"hidden/weights", 2, {MODEL_INPUTS, MODEL_HIDDEN}, MODEL_INPUTS *MODEL_HIDDEN},
    [HIDDEN_BIAS] = {"hidden/bias", 1, {MODEL_HIDDEN}, MODEL_HIDDEN},
    [OUTPUT_WEIGHTS] = {"output/weights", 2, {MODEL_HIDDEN, MODEL_CLASSES}, MODEL_HIDDEN *MODEL_CLASSES},
    [OUTPUT_BIAS] = {"output/bias", 1, {MODEL_CLASSES}, MODEL_CLASSES},
};

int model_workspace_create(size_t max_rows, ModelWorkspace *out) {
    out->hidden = calloc(max_rows * MODEL_HIDDEN, sizeof(float));
    out->hidden_gradient = calloc(max_rows * MODEL_HIDDEN, sizeof(float));
    out->output = calloc(max_rows * MODEL_CLASSES, sizeof(float));
    if (out->hidden && out->hidden_gradient && out->output) return 0;
    model_workspace_destroy(out);
    return -1;
}

void model_workspace_destroy(ModelWorkspace *workspace) {
    free(workspace->hidden);
    free(workspace->hidden_gradient);
    free(workspace->output);
    memset(workspace, 0, sizeof *workspace);
}

// splitmix64: small, good enough for weights, and the same everywhere, which rand() is not.
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
static void layer_forward(const float *input, const float *weights, const float *bias, float *result, size_t rows,
                          int inputs, int outputs) {
    for (size_t row = 0; row < rows; ++row) memcpy(result + row * outputs, bias, outputs * sizeof(float));
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, outputs, inputs, 1.0f, input, inputs, weights,
                outputs, 1.0f, result, outputs);
}

// weights_gradient = input^T * output_gradient; bias_gradient = its column sums
static void layer_backward(const float *input, const float *output_gradient, float *weights_gradient,
                           float *bias_gradient, size_t rows, int inputs, int outputs) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, inputs, outputs, (int)rows, 1.0f, input, inputs,
                output_gradient, outputs, 0.0f, weights_gradient, outputs);
    memset(bias_gradient, 0, outputs * sizeof(float));
    for (size_t row = 0; row < rows; ++row)
        for (int i = 0; i < outputs; ++i) bias_gradient[i] += output_gradient[row * outputs + i];
}

// Turns logits into the gradient of the cross-entropy (softmax minus the right answer), and counts.
static void softmax_cross_entropy(float *output, const uint8_t *labels, size_t rows, double totals[MODEL_TOTALS]) {
    for (size_t row = 0; row < rows; ++row) {
        float *const logits = output + row * MODEL_CLASSES;
        int answer = 0;
        for (int i = 1; i < MODEL_CLASSES; ++i)
            if (logits[i] > logits[answer]) answer = i;
        const float largest = logits[answer];
        const float right = logits[labels[row]] - largest;

        float sum = 0.0f;
        for (int i = 0; i < MODEL_CLASSES; ++i) sum += logits[i] = expf(logits[i] - largest);
        for (int i = 0; i < MODEL_CLASSES; ++i) logits[i] /= sum;
        logits[labels[row]] -= 1.0f;

        totals[TOTAL_LOSS] += logf(sum) - right;
        totals[TOTAL_CORRECT] += answer == labels[row];
        totals[TOTAL_ROWS] += 1;
    }
}

void model_evaluate(const float *const parameters[MODEL_PARTS], const float *images, const uint8_t *labels, size_t rows,
                    const ModelWorkspace *workspace, double totals[MODEL_TOTALS]) {
    memset(totals, 0, MODEL_TOTALS * sizeof totals[0]);
    if (rows == 0) return;
    layer_forward(images, parameters[HIDDEN_WEIGHTS], parameters[HIDDEN_BIAS], workspace->hidden, rows, MODEL_INPUTS,
                  MODEL_HIDDEN);
    for (size_t i = 0; i < rows * MODEL_HIDDEN; ++i) workspace->hidden[i] = fmaxf(workspace->hidden[i], 0.0f);
    layer_forward(workspace->hidden, parameters[OUTPUT_WEIGHTS], parameters[OUTPUT_BIAS], workspace->output, rows,
                  MODEL_HIDDEN, MODEL_CLASSES);
    softmax_cross_entropy(workspace->output, labels, rows, totals);
}

void model_gradients(const float *const parameters[MODEL_PARTS], const float *images, const uint8_t *labels,
                     size_t rows, const ModelWorkspace *workspace, float *const gradients[MODEL_PARTS],
                     double totals[MODEL_TOTALS]) {
    model_evaluate(parameters, images, labels, rows, workspace, totals);
    if (rows == 0) {
        for (int part = 0; part < MODEL_PARTS; ++part)
            memset(gradients[part], 0, model_parts[part].elements * sizeof(float));
        return;
    }
    layer_backward(workspace->hidden, workspace->output, gradients[OUTPUT_WEIGHTS], gradients[OUTPUT_BIAS], rows,
                   MODEL_HIDDEN, MODEL_CLASSES);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, MODEL_HIDDEN, MODEL_CLASSES, 1.0f,
                workspace->output, MODEL_CLASSES, parameters[OUTPUT_WEIGHTS], MODEL_CLASSES, 0.0f,
                workspace->hidden_gradient, MODEL_HIDDEN);
    for (size_t i = 0; i < rows * MODEL_HIDDEN; ++i)
        if (workspace->hidden[i] <= 0.0f) workspace->hidden_gradient[i] = 0.0f;
    layer_backward(images, workspace->hidden_gradient, gradients[HIDDEN_WEIGHTS], gradients[HIDDEN_BIAS], rows,
                   MODEL_INPUTS, MODEL_HIDDEN);
}

void model_update(float *const parameters[MODEL_PARTS], float *const momentum[MODEL_PARTS],
                  const float *const gradients[MODEL_PARTS], float scale, float rate, float decay) {
    for (int part = 0; part < MODEL_PARTS; ++part) {
        for (size_t i = 0; i < model_parts[part].elements; ++i) {
            // The weights of units that never fire get no gradient, and their momentum would fade into subnormal
            // numbers and stay there: after two epochs a seventh of them, on which every operation is slow.
            const float next = decay * momentum[part][i] + scale * gradients[part][i];
            momentum[part][i] = fabsf(next) < FLT_MIN ? 0.0f : next;
            parameters[part][i] -= rate * momentum[part][i];
        }
    }
}
