// SPDX-License-Identifier: Apache-2.0
// Model: predicts which letter follows CONTEXT letters. It looks each letter up in a table; a few layers follow. A
// product with ones and zeros picks the table's rows. So the forward and the backward pass consist of matrix products.
//
// The model does not depend on replicas. It tells its caller when a gradient is complete, the last layer's first.
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

// The arrays of one replica, in memory of its device.
typedef struct Model {
    Math *math;
    float *parameters[PARTS], *momentum[PARTS], *gradients[PARTS]; // not its own
    float *chosen;                                                 // [rows * CONTEXT][LETTERS]: ones and zeros
    float *values[LAYERS + 1];                                     // the inputs of each layer, and the logits
    float *value_gradients[LAYERS];
    double *totals; // MATH_TOTALS
} Model;

// Returns 0, or -1 without memory.
int model_create(int gpu, size_t max_rows, Model *out);
void model_destroy(Model *self);

// Writes random values to host memory. A part gets the same values on every machine.
void model_initialise(int part, float *values);

// Called when a part's gradient is complete. Returns 0 to continue; any other number stops.
typedef int (*PartReady)(int part, void *user_data);

// Computes the gradients of the loss, summed over rows, and totals. contexts is [rows][CONTEXT], next [rows].
int model_gradients(Model *self, const uint8_t *contexts, const uint8_t *next, size_t rows, PartReady ready,
                    void *user_data);
// Takes one step along the gradients, divided by the number of rows in totals.
void model_update(Model *self, float rate);
