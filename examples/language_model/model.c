// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <math.h>
#include <string.h>

const Part model_parts[PARTS] = {
    {"table", LETTERS, WIDTH},  {"first/weights", CONTEXT *WIDTH, HIDDEN},
    {"first/bias", 1, HIDDEN},  {"second/weights", HIDDEN, HIDDEN},
    {"second/bias", 1, HIDDEN}, {"last/weights", HIDDEN, LETTERS},
    {"last/bias", 1, LETTERS},
};

enum { TABLE = 0 };

static int weights_of(int layer) {
    return 1 + 2 * layer;
}

static size_t inputs_of(int layer) {
    return model_parts[weights_of(layer)].rows;
}

static size_t outputs_of(int layer) {
    return model_parts[weights_of(layer)].columns;
}

size_t part_elements(int part) {
    return model_parts[part].rows * model_parts[part].columns;
}

int model_create(int gpu, size_t max_rows, Model *out) {
    memset(out, 0, sizeof *out);
    if (!(out->math = math_create(gpu))) return -1;
    int well = 1;
    well &= !!(out->chosen = math_allocate(out->math, max_rows * CONTEXT * LETTERS * sizeof(float)));
    for (int i = 0; i <= LAYERS; ++i) {
        const size_t width = i < LAYERS ? inputs_of(i) : LETTERS;
        well &= !!(out->values[i] = math_allocate(out->math, max_rows * width * sizeof(float)));
        if (i < LAYERS)
            well &= !!(out->value_gradients[i] = math_allocate(out->math, max_rows * width * sizeof(float)));
    }
    well &= !!(out->totals = math_allocate(out->math, MATH_TOTALS * sizeof(double)));
    if (well) return 0;
    model_destroy(out);
    return -1;
}

void model_destroy(Model *self) {
    if (!self->math) return;
    math_release(self->math, self->chosen);
    for (int i = 0; i <= LAYERS; ++i) math_release(self->math, self->values[i]);
    for (int i = 0; i < LAYERS; ++i) math_release(self->math, self->value_gradients[i]);
    math_release(self->math, self->totals);
    math_destroy(self->math);
    memset(self, 0, sizeof *self);
}

// Uniform numbers, with the variance that keeps a signal at its size. Biases are 0.
void model_initialise(int part, float *values) {
    const int is_bias = model_parts[part].rows == 1;
    const float bound = part == TABLE ? 1.0f : sqrtf(6.0f / (float)model_parts[part].rows);
    uint32_t state = 12345u + (uint32_t)part;
    for (size_t i = 0; i < part_elements(part); ++i) {
        state = state * 1664525u + 1013904223u;
        values[i] = is_bias ? 0.0f : bound * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
}

static void forward(Model *self, const uint8_t *contexts, size_t rows) {
    math_one_hot(self->math, contexts, self->chosen, rows * CONTEXT, LETTERS);
    math_multiply(self->math, 0, 0, rows * CONTEXT, WIDTH, LETTERS, self->chosen, self->parameters[TABLE], 0.0f,
                  self->values[0]); // [rows * CONTEXT][WIDTH] is [rows][CONTEXT * WIDTH]
    for (int layer = 0; layer < LAYERS; ++layer) {
        const int part = weights_of(layer);
        float *const out = self->values[layer + 1];
        math_repeat_row(self->math, self->parameters[part + 1], out, rows, outputs_of(layer));
        math_multiply(self->math, 0, 0, rows, outputs_of(layer), inputs_of(layer), self->values[layer],
                      self->parameters[part], 1.0f, out);
        if (layer + 1 < LAYERS) math_relu(self->math, out, rows * outputs_of(layer));
    }
}

int model_gradients(Model *self, const uint8_t *contexts, const uint8_t *next, size_t rows, PartReady ready,
                    void *user_data) {
    forward(self, contexts, rows);
    math_cross_entropy(self->math, self->values[LAYERS], next, rows, LETTERS, self->totals);
    const float *above = self->values[LAYERS]; // the gradient of the layer's output
    for (int layer = LAYERS - 1; layer >= 0; --layer) {
        const int part = weights_of(layer);
        const size_t inputs = inputs_of(layer), outputs = outputs_of(layer);
        math_multiply(self->math, 1, 0, inputs, outputs, rows, self->values[layer], above, 0.0f, self->gradients[part]);
        math_sum_rows(self->math, above, self->gradients[part + 1], rows, outputs);
        if (ready(part, user_data) != 0 || ready(part + 1, user_data) != 0) return -1;
        float *const below = self->value_gradients[layer];
        math_multiply(self->math, 0, 1, rows, inputs, outputs, above, self->parameters[part], 0.0f, below);
        if (layer > 0) math_relu_gradient(self->math, self->values[layer], below, rows * inputs);
        above = below;
    }
    math_multiply(self->math, 1, 0, LETTERS, WIDTH, rows * CONTEXT, self->chosen, above, 0.0f, self->gradients[TABLE]);
    return ready(TABLE, user_data);
}

void model_update(Model *self, float rate) {
    for (int part = 0; part < PARTS; ++part)
        math_momentum(self->math, self->parameters[part], self->momentum[part], self->gradients[part],
                      part_elements(part), &self->totals[TOTAL_ROWS], rate, 0.9f);
}
