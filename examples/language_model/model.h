// SPDX-License-Identifier: Apache-2.0
// Model: which letter comes next after CONTEXT of them. Each is looked up in a table; a few layers follow. The table's
// rows are picked by a product with ones and zeros, so that all of it is products of matrices, forth and back.
//
// It knows nothing of replicas, but tells who asks when a gradient is complete: the last layer's first.
#pragma once

#include "../math/device_math.h"
#include "text.h"

enum { CONTEXT = 16, WIDTH = 32, HIDDEN = 256, LAYERS = 3, PARTS = 1 + 2 * LAYERS };

// The parameters in the order of the forward pass: the table, then weights and bias of each layer.
typedef struct Part {
    const char *name;
    uint64_t rows, columns;
} Part;
extern const Part model_parts[PARTS];
size_t part_elements(int part);

// What one replica works with, in memory of its device.
typedef struct Model {
    Math *math;
    float *parameters[PARTS], *momentum[PARTS], *gradients[PARTS]; // not its own
    float *chosen;                                                 // [rows * CONTEXT][LETTERS]: ones and zeros
    float *values[LAYERS + 1];                                     // what goes into each layer, and the logits
    float *value_gradients[LAYERS];
    double *totals; // MATH_TOTALS
} Model;

// Returns 0, or -1 without memory.
int model_create(int gpu, size_t max_rows, Model *out);
void model_destroy(Model *self);

// Random values on the host, the same for the same part everywhere.
void model_initialise(int part, float *values);

// A part's gradient is complete; not 0: stop.
typedef int (*PartReady)(int part, void *user_data);

// Gradients of the loss summed over rows, and totals. contexts is [rows][CONTEXT], next [rows].
int model_gradients(Model *self, const uint8_t *contexts, const uint8_t *next, size_t rows, PartReady ready,
                    void *user_data);
// One step along the gradients, divided by what totals say of rows.
void model_update(Model *self, float rate);
