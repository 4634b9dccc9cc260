// SPDX-License-Identifier: Apache-2.0
// Math: what the examples' models compute with, so that they are written once: on the CPU by OpenBLAS, on a GPU by
// cuBLAS and a few kernels. Arrays lie in memory of the math's device. Matrices are row-major.
//
// On a GPU all of it is put on a stream, in order, and nothing waits; what goes wrong is told by math_failed().
// One thread at a time for each of them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Math Math;

// What math_cross_entropy() counts, as sums over rows.
enum { TOTAL_LOSS, TOTAL_CORRECT, TOTAL_ROWS, MATH_TOTALS };

// gpu: its number, or -1 for the CPU. NULL without memory, or where this program was built without CUDA.
Math *math_create(int gpu);
void math_destroy(Math *self);
// The cudaStream_t that everything goes on from now on; nothing on the CPU.
void math_use_stream(Math *self, void *stream);
// Whether anything went wrong so far.
int math_failed(const Math *self);

// Zeros; NULL without memory.
void *math_allocate(Math *self, size_t bytes);
void math_release(Math *self, void *memory);
void math_zero(Math *self, void *memory, size_t bytes);

// c[m][n] = a[m][k] * b[k][n] + keep * c, where a may be stored as [k][m], and b as [n][k].
void math_multiply(Math *self, int a_is_transposed, int b_is_transposed, size_t m, size_t n, size_t k, const float *a,
                   const float *b, float keep, float *c);
// Every row of to[rows][columns] becomes `row`.
void math_repeat_row(Math *self, const float *row, float *to, size_t rows, size_t columns);
// sums[columns] = the sum of all rows.
void math_sum_rows(Math *self, const float *from, float *sums, size_t rows, size_t columns);
void math_relu(Math *self, float *values, size_t count);
// Zeros where math_relu() gave 0.
void math_relu_gradient(Math *self, const float *values, float *gradient, size_t count);
// to[count][classes] = 1 where the class is that of the number, else 0.
void math_one_hot(Math *self, const uint8_t *numbers, float *to, size_t count, size_t classes);
// Turns logits[rows][classes] into the gradient of the summed cross-entropy, and counts into totals.
void math_cross_entropy(Math *self, float *logits, const uint8_t *labels, size_t rows, size_t classes,
                        double totals[MATH_TOTALS]);
// One step of SGD with momentum along gradients / *rows.
void math_momentum(Math *self, float *parameters, float *momentum, const float *gradients, size_t count,
                   const double *rows, float rate, float decay);

#ifdef __cplusplus
}
#endif
