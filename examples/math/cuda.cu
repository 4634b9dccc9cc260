// SPDX-License-Identifier: Apache-2.0
// A GPU: cuBLAS, and kernels with a thread for each number, row or column. The same numbers always give the same bits.
#include "backend.h"
#include "softmax.h"

#include <cfloat>
#include <new>

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace {

struct Cuda {
    Math math; // first: a Math is a pointer to it
    int gpu;
    cudaStream_t stream;
    cublasHandle_t blas;
};

Cuda &of(Math *self) {
    return *reinterpret_cast<Cuda *>(self);
}

void check(Math *self, bool fine) {
    if (!fine) self->failed = 1;
}

void check_launch(Math *self) {
    check(self, cudaGetLastError() == cudaSuccess);
}

// Sets the thread's GPU and does not restore the old one: that would create a context on a GPU that nobody has chosen.
void set_gpu(Math *self) {
    check(self, cudaSetDevice(of(self).gpu) == cudaSuccess);
}

constexpr unsigned kThreads = 256;

unsigned blocks(size_t count) {
    return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

__device__ size_t place() {
    return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// ---- Kernels.

__global__ void repeat_rows(const float *row, float *to, size_t count, size_t columns) {
    if (const size_t i = place(); i < count) to[i] = row[i % columns];
}

__global__ void add_rows(const float *from, float *sums, size_t rows, size_t columns) {
    const size_t column = place();
    if (column >= columns) return;
    float sum = 0;
    for (size_t row = 0; row < rows; ++row) sum += from[row * columns + column];
    sums[column] = sum;
}

__global__ void keep_positive(float *values, size_t count) {
    if (const size_t i = place(); i < count) values[i] = fmaxf(values[i], 0.0f);
}

__global__ void keep_where_positive(const float *values, float *gradient, size_t count) {
    const size_t i = place();
    if (i < count && values[i] <= 0.0f) gradient[i] = 0.0f;
}

__global__ void mark_classes(const uint8_t *numbers, float *to, size_t count, size_t classes) {
    if (const size_t i = place(); i < count) to[i] = numbers[i / classes] == i % classes ? 1.0f : 0.0f;
}

// One block. Its threads take rows in turn, and add up their counts in a fixed order.
__global__ void softmax_rows(float *output, const uint8_t *labels, size_t rows, size_t classes, double *totals) {
    __shared__ double counted[MATH_TOTALS][kThreads];
    double loss = 0, correct = 0, seen = 0;
    for (size_t row = threadIdx.x; row < rows; row += kThreads) {
        const RowLoss one = softmax_row(output + row * classes, classes, labels[row]);
        loss += one.loss;
        correct += one.correct;
        seen += 1;
    }
    counted[TOTAL_LOSS][threadIdx.x] = loss;
    counted[TOTAL_CORRECT][threadIdx.x] = correct;
    counted[TOTAL_ROWS][threadIdx.x] = seen;
    __syncthreads();
    if (threadIdx.x >= MATH_TOTALS) return;
    double total = 0;
    for (unsigned i = 0; i < kThreads; ++i) total += counted[threadIdx.x][i];
    totals[threadIdx.x] = total;
}

__global__ void follow(float *parameters, float *momenta, const float *gradients, size_t count, const double *rows,
                       float rate, float decay) {
    const size_t i = place();
    if (i >= count) return;
    const float next = decay * momenta[i] + static_cast<float>(1 / *rows) * gradients[i];
    momenta[i] = fabsf(next) < FLT_MIN ? 0.0f : next;
    parameters[i] -= rate * momenta[i];
}

// ---- The table.

void destroy(Math *self) {
    set_gpu(self);
    cublasDestroy(of(self).blas);
    delete &of(self);
}

void use_stream(Math *self, void *stream) {
    of(self).stream = static_cast<cudaStream_t>(stream);
    check(self, cublasSetStream(of(self).blas, of(self).stream) == CUBLAS_STATUS_SUCCESS);
}

void *allocate(Math *self, size_t bytes) {
    set_gpu(self);
    void *memory = nullptr;
    if (cudaMalloc(&memory, bytes == 0 ? 1 : bytes) != cudaSuccess) return nullptr;
    check(self, cudaMemset(memory, 0, bytes) == cudaSuccess);
    check(self, cudaStreamSynchronize(nullptr) == cudaSuccess); // other streams do not wait for this one
    return memory;
}

void release(Math *self, void *memory) {
    set_gpu(self);
    cudaFree(memory);
}

void zero(Math *self, void *memory, size_t bytes) {
    set_gpu(self);
    check(self, cudaMemsetAsync(memory, 0, bytes, of(self).stream) == cudaSuccess);
}

// cuBLAS reads a row-major matrix as its transpose, so it gets b before a.
void multiply(Math *self, int a_is_transposed, int b_is_transposed, size_t m, size_t n, size_t k, const float *a,
              const float *b, float keep, float *c) {
    set_gpu(self);
    const float one = 1.0f;
    check(self, cublasSgemm(of(self).blas, b_is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                            a_is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(n), static_cast<int>(m),
                            static_cast<int>(k), &one, b, static_cast<int>(b_is_transposed ? k : n), a,
                            static_cast<int>(a_is_transposed ? m : k), &keep, c,
                            static_cast<int>(n)) == CUBLAS_STATUS_SUCCESS);
}

void repeat_row(Math *self, const float *row, float *to, size_t rows, size_t columns) {
    set_gpu(self);
    if (rows == 0) return;
    repeat_rows<<<blocks(rows * columns), kThreads, 0, of(self).stream>>>(row, to, rows * columns, columns);
    check_launch(self);
}

void sum_rows(Math *self, const float *from, float *sums, size_t rows, size_t columns) {
    set_gpu(self);
    add_rows<<<blocks(columns), kThreads, 0, of(self).stream>>>(from, sums, rows, columns);
    check_launch(self);
}

void relu(Math *self, float *values, size_t count) {
    set_gpu(self);
    if (count == 0) return;
    keep_positive<<<blocks(count), kThreads, 0, of(self).stream>>>(values, count);
    check_launch(self);
}

void relu_gradient(Math *self, const float *values, float *gradient, size_t count) {
    set_gpu(self);
    if (count == 0) return;
    keep_where_positive<<<blocks(count), kThreads, 0, of(self).stream>>>(values, gradient, count);
    check_launch(self);
}

void one_hot(Math *self, const uint8_t *numbers, float *to, size_t count, size_t classes) {
    set_gpu(self);
    if (count == 0) return;
    mark_classes<<<blocks(count * classes), kThreads, 0, of(self).stream>>>(numbers, to, count * classes, classes);
    check_launch(self);
}

void cross_entropy(Math *self, float *logits, const uint8_t *labels, size_t rows, size_t classes, double *totals) {
    set_gpu(self);
    softmax_rows<<<1, kThreads, 0, of(self).stream>>>(logits, labels, rows, classes, totals);
    check_launch(self);
}

void momentum(Math *self, float *parameters, float *momenta, const float *gradients, size_t count, const double *rows,
              float rate, float decay) {
    set_gpu(self);
    follow<<<blocks(count), kThreads, 0, of(self).stream>>>(parameters, momenta, gradients, count, rows, rate, decay);
    check_launch(self);
}

const MathBackend kBackend = {
    destroy,  use_stream, allocate,      release, zero,          multiply, repeat_row,
    sum_rows, relu,       relu_gradient, one_hot, cross_entropy, momentum,
};

} // namespace

extern "C" Math *math_create_cuda(int gpu) {
    Cuda *const self = new (std::nothrow) Cuda{{&kBackend, 0}, gpu, nullptr, nullptr};
    if (self == nullptr) return nullptr;
    set_gpu(&self->math);
    if (self->math.failed == 0 && cublasCreate(&self->blas) == CUBLAS_STATUS_SUCCESS) return &self->math;
    delete self;
    return nullptr;
}
