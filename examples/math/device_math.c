// SPDX-License-Identifier: Apache-2.0
#include "backend.h"

Math *math_create(int gpu) {
    if (gpu < 0) return math_create_cpu();
#ifdef EXAMPLES_HAVE_CUDA
    return math_create_cuda(gpu);
#else
    return NULL;
#endif
}

void math_destroy(Math *self) {
    if (self) self->backend->destroy(self);
}

void math_use_stream(Math *self, void *stream) {
    self->backend->use_stream(self, stream);
}

int math_failed(const Math *self) {
    return self->failed;
}

void *math_allocate(Math *self, size_t bytes) {
    return self->backend->allocate(self, bytes);
}

void math_release(Math *self, void *memory) {
    if (memory) self->backend->release(self, memory);
}

void math_zero(Math *self, void *memory, size_t bytes) {
    self->backend->zero(self, memory, bytes);
}

void math_multiply(Math *self, int a_is_transposed, int b_is_transposed, size_t m, size_t n, size_t k, const float *a,
                   const float *b, float keep, float *c) {
    self->backend->multiply(self, a_is_transposed, b_is_transposed, m, n, k, a, b, keep, c);
}

void math_repeat_row(Math *self, const float *row, float *to, size_t rows, size_t columns) {
    self->backend->repeat_row(self, row, to, rows, columns);
}

void math_sum_rows(Math *self, const float *from, float *sums, size_t rows, size_t columns) {
    self->backend->sum_rows(self, from, sums, rows, columns);
}

void math_relu(Math *self, float *values, size_t count) {
    self->backend->relu(self, values, count);
}

void math_relu_gradient(Math *self, const float *values, float *gradient, size_t count) {
    self->backend->relu_gradient(self, values, gradient, count);
}

void math_one_hot(Math *self, const uint8_t *numbers, float *to, size_t count, size_t classes) {
    self->backend->one_hot(self, numbers, to, count, classes);
}

void math_cross_entropy(Math *self, float *logits, const uint8_t *labels, size_t rows, size_t classes,
                        double totals[MATH_TOTALS]) {
    self->backend->cross_entropy(self, logits, labels, rows, classes, totals);
}

void math_momentum(Math *self, float *parameters, float *momentum, const float *gradients, size_t count,
                   const double *rows, float rate, float decay) {
    self->backend->momentum(self, parameters, momentum, gradients, count, rows, rate, decay);
}
