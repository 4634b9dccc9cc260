// SPDX-License-Identifier: Apache-2.0
// The CPU: work is done when a function returns. There is no state, so one object serves all threads.
#include "backend.h"
#include "softmax.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void destroy(Math *self) {
    (void)self; // there is only one object
}

static void use_stream(Math *self, void *stream) {
    (void)self, (void)stream;
}

static void *allocate(Math *self, size_t bytes) {
    (void)self;
    const size_t size = (bytes + 63) & ~(size_t)63; // aligned is fastest
    void *const memory = aligned_alloc(64, size ? size : 64);
    return memory ? memset(memory, 0, size) : NULL;
}

static void release(Math *self, void *memory) {
    (void)self;
    free(memory);
}

static void zero(Math *self, void *memory, size_t bytes) {
    (void)self;
    memset(memory, 0, bytes);
}

static void multiply(Math *self, int a_is_transposed, int b_is_transposed, size_t m, size_t n, size_t k, const float *a,
                     const float *b, float keep, float *c) {
    (void)self;
    cblas_sgemm(CblasRowMajor, a_is_transposed ? CblasTrans : CblasNoTrans, b_is_transposed ? CblasTrans : CblasNoTrans,
                (int)m, (int)n, (int)k, 1.0f, a, (int)(a_is_transposed ? m : k), b, (int)(b_is_transposed ? k : n),
                keep, c, (int)n);
}

static void repeat_row(Math *self, const float *row, float *to, size_t rows, size_t columns) {
    (void)self;
    for (size_t i = 0; i < rows; ++i) memcpy(to + i * columns, row, columns * sizeof(float));
}

static void sum_rows(Math *self, const float *from, float *sums, size_t rows, size_t columns) {
    (void)self;
    memset(sums, 0, columns * sizeof(float));
    for (size_t row = 0; row < rows; ++row)
        for (size_t i = 0; i < columns; ++i) sums[i] += from[row * columns + i];
}

static void relu(Math *self, float *values, size_t count) {
    (void)self;
    for (size_t i = 0; i < count; ++i) values[i] = fmaxf(values[i], 0.0f);
}

static void relu_gradient(Math *self, const float *values, float *gradient, size_t count) {
    (void)self;
    for (size_t i = 0; i < count; ++i)
        if (values[i] <= 0.0f) gradient[i] = 0.0f;
}

static void one_hot(Math *self, const uint8_t *numbers, float *to, size_t count, size_t classes) {
    (void)self;
    memset(to, 0, count * classes * sizeof(float));
    for (size_t i = 0; i < count; ++i) to[i * classes + numbers[i]] = 1.0f;
}

static void cross_entropy(Math *self, float *output, const uint8_t *labels, size_t rows, size_t classes,
                          double totals[MATH_TOTALS]) {
    (void)self;
    memset(totals, 0, MATH_TOTALS * sizeof totals[0]);
    for (size_t row = 0; row < rows; ++row) {
        const RowLoss one = softmax_row(output + row * classes, classes, labels[row]);
        totals[TOTAL_LOSS] += one.loss;
        totals[TOTAL_CORRECT] += one.correct;
        totals[TOTAL_ROWS] += 1;
    }
}

static void momentum(Math *self, float *parameters, float *momenta, const float *gradients, size_t count,
                     const double *rows, float rate, float decay) {
    (void)self;
    const float scale = (float)(1 / *rows);
    for (size_t i = 0; i < count; ++i) {
        // Units that never fire get no gradient, so the momentum of their weights would become subnormal and stay so:
        // a seventh of all numbers after two epochs. Every operation on subnormal numbers is slow.
        const float next = decay * momenta[i] + scale * gradients[i];
        momenta[i] = fabsf(next) < FLT_MIN ? 0.0f : next;
        parameters[i] -= rate * momenta[i];
    }
}

Math *math_create_cpu(void) {
    static const MathBackend backend = {
        destroy,  use_stream, allocate,      release, zero,          multiply, repeat_row,
        sum_rows, relu,       relu_gradient, one_hot, cross_entropy, momentum,
    };
    static Math math = {&backend, 0};
    // Uses one thread per replica: with more threads, a sum would have another order and other bits. The replicas keep
    // the cores busy.
    openblas_set_num_threads(1);
    return &math;
}
