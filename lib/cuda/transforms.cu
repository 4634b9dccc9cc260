// SPDX-License-Identifier: Apache-2.0
// The kernels for copies, casts, divisions, squares, and for keeping a stream busy.
#include <mdist/tensor.h>

#include "cuda/launch.cuh"

namespace mdist::cuda {
namespace {

template <typename Batch>
__global__ void __launch_bounds__(kThreads) copies(const __grid_constant__ Batch batch) {
    for (uint32_t chunk = blockIdx.x; chunk < batch.chunks; chunk += gridDim.x) copy_chunk(batch, chunk, threadIdx.x);
}

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads) cast(const __grid_constant__ CastWork work) {
    const uint64_t chunks = (work.elements + kRowChunk - 1) / kRowChunk;
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
        cast_chunk<From, To>(work, chunk, threadIdx.x);
}

template <typename Unsigned>
__global__ void __launch_bounds__(kThreads) divide(const __grid_constant__ DivideWork work) {
    const uint64_t chunks = (work.elements + kRowChunk - 1) / kRowChunk;
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
        divide_chunk<Unsigned>(work, chunk, threadIdx.x);
}

/// Adds up the sums of a block's threads and stores the result. All threads of the block must call it.
__device__ void store_block_sum(double sum, double *to) {
    __shared__ double sums[kThreads];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
        add_halves(sums, threadIdx.x, half);
        __syncthreads();
    }
    if (threadIdx.x == 0) *to = sums[0];
}

template <typename Format>
__global__ void __launch_bounds__(kThreads) squares(const __grid_constant__ SquaresWork work) {
    const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
    store_block_sum(squares_of_thread<Format>(work, thread, uint64_t{gridDim.x} * kThreads), work.sums + blockIdx.x);
}

struct SumsWork {
    const double *sums;
    unsigned count;
    double *to;
};

__global__ void __launch_bounds__(kThreads) sum_blocks(const __grid_constant__ SumsWork work) {
    store_block_sum(sums_of_thread(work.sums, work.count, threadIdx.x), work.to);
}

__device__ uint64_t nanoseconds_now() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void spin(const __grid_constant__ uint64_t nanoseconds) {
    const uint64_t begin = nanoseconds_now();
    while (nanoseconds_now() - begin < nanoseconds) __nanosleep(500);
}

template <typename From>
int launch_cast_from(int32_t to, const CastWork &work, Grid grid) {
    switch (to) {
        case MDIST_FLOAT32:
            return launch(cast<From, Plain<float>>, work, grid);
        case MDIST_FLOAT64:
            return launch(cast<From, Plain<double>>, work, grid);
        case MDIST_FLOAT16:
            return launch(cast<From, Float16>, work, grid);
        default:
            return launch(cast<From, Bfloat16>, work, grid);
    }
}

template <typename Format>
int launch_squares_of(const SquaresWork &work, double *sum, cudaStream_t stream) {
    const unsigned blocks = square_blocks<Format>(work.elements);
    const int error = launch(squares<Format>, work, {blocks, stream});
    return error != 0 ? error : launch(sum_blocks, {work.sums, blocks, sum}, {1, stream});
}

} // namespace

int launch_copies(const SmallCopyBatch &batch, Grid grid) {
    return launch(copies<SmallCopyBatch>, batch, grid);
}

int launch_copies(const LargeCopyBatch &batch, Grid grid) {
    return launch(copies<LargeCopyBatch>, batch, grid);
}

int launch_cast(int32_t to, int32_t from, const CastWork &work, Grid grid) {
    switch (from) {
        case MDIST_FLOAT32:
            return launch_cast_from<Plain<float>>(to, work, grid);
        case MDIST_FLOAT64:
            return launch_cast_from<Plain<double>>(to, work, grid);
        case MDIST_FLOAT16:
            return launch_cast_from<Float16>(to, work, grid);
        default:
            return launch_cast_from<Bfloat16>(to, work, grid);
    }
}

int launch_divide(unsigned element_size, const DivideWork &work, Grid grid) {
    switch (element_size) {
        case 1:
            return launch(divide<uint8_t>, work, grid);
        case 2:
            return launch(divide<uint16_t>, work, grid);
        case 4:
            return launch(divide<uint32_t>, work, grid);
        default:
            return launch(divide<uint64_t>, work, grid);
    }
}

int launch_squares(int32_t dtype, const SquaresWork &work, double *sum, cudaStream_t stream) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return launch_squares_of<Plain<float>>(work, sum, stream);
        case MDIST_FLOAT64:
            return launch_squares_of<Plain<double>>(work, sum, stream);
        case MDIST_FLOAT16:
            return launch_squares_of<Float16>(work, sum, stream);
        default:
            return launch_squares_of<Bfloat16>(work, sum, stream);
    }
}

int launch_spin(uint64_t nanoseconds, cudaStream_t stream) {
    void *arguments[] = {&nanoseconds};
    return cudaLaunchKernel(reinterpret_cast<const void *>(spin), dim3(1), dim3(1), arguments, 0, stream);
}

} // namespace mdist::cuda
