// SPDX-License-Identifier: Apache-2.0
// Math: arithmetic for the examples' models, on the CPU with OpenBLAS, on a GPU with cuBLAS and a few kernels. So each
// model is written once. Arrays lie in memory of the Math's device. Matrices are row-major.
//
// On a GPU, all work is put on a stream, in order, and no function waits for it. math_failed() tells whether something
// failed. One thread at a time per Math.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Math Math;

// The sums over rows that math_cross_entropy() adds to.
enum { TOTAL_LOSS, TOTAL_CORRECT, TOTAL_ROWS, MATH_TOTALS };

// gpu: its number, or -1 for the CPU. Returns NULL if there is no memory, or if the program was built without CUDA.
Math *math_create(int gpu);
void math_destroy(Math *self);
// Sets the cudaStream_t for all later work. Does nothing on the CPU.
void math_use_stream(Math *self, void *stream);
// Returns whether anything has failed so far.
int math_failed(const Math *self);

// Allocates zeros; NULL if there is no memory.
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
// Sets to 0 where math_relu() gave 0.
void math_relu_gradient(Math *self, const float *values, float *gradient, size_t count);
// to[count][classes] = 1 where the class is that of the number, else 0.
void math_one_hot(Math *self, const uint8_t *numbers, float *to, size_t count, size_t classes);
// Replaces logits[rows][classes] by the gradient of the summed cross-entropy, and adds to totals.
void math_cross_entropy(Math *self, float *logits, const uint8_t *labels, size_t rows, size_t classes,
                        double totals[MATH_TOTALS]);
// Takes one step of SGD with momentum along gradients / *rows.
void math_momentum(Math *self, float *parameters, float *momentum, const float *gradients, size_t count,
                   const double *rows, float rate, float decay);

#ifdef __cplusplus
}
#endif
