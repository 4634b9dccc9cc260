// SPDX-License-Identifier: Apache-2.0
// The functions behind a Math: one table for the CPU, one for GPUs. device_math.h describes them.
#pragma once

#include "device_math.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MathBackend {
    void (*destroy)(Math *self);
    void (*use_stream)(Math *self, void *stream);
    void *(*allocate)(Math *self, size_t bytes);
    void (*release)(Math *self, void *memory);
    void (*zero)(Math *self, void *memory, size_t bytes);
    void (*multiply)(Math *self, int a_is_transposed, int b_is_transposed, size_t m, size_t n, size_t k, const float *a,
                     const float *b, float keep, float *c);
    void (*repeat_row)(Math *self, const float *row, float *to, size_t rows, size_t columns);
    void (*sum_rows)(Math *self, const float *from, float *sums, size_t rows, size_t columns);
    void (*relu)(Math *self, float *values, size_t count);
    void (*relu_gradient)(Math *self, const float *values, float *gradient, size_t count);
    void (*one_hot)(Math *self, const uint8_t *numbers, float *to, size_t count, size_t classes);
    void (*cross_entropy)(Math *self, float *logits, const uint8_t *labels, size_t rows, size_t classes,
                          double totals[MATH_TOTALS]);
    void (*momentum)(Math *self, float *parameters, float *momentum, const float *gradients, size_t count,
                     const double *rows, float rate, float decay);
} MathBackend;

// The beginning of each backend's own struct.
struct Math {
    const MathBackend *backend;
    int failed;
};

Math *math_create_cpu(void);
Math *math_create_cuda(int gpu);

#ifdef __cplusplus
}
#endif
