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
__global__ void __launch_bounds__(kThreads) squares(const __grid_constant__ SquaresBatch batch) {
    store_block_sum(squares_of_thread<Format>(batch, blockIdx.x, threadIdx.x), batch.sums + blockIdx.x);
}

__global__ void __launch_bounds__(kThreads) sum_blocks(const __grid_constant__ SquaresBatch batch) {
    const SquaresItem &item = batch.items[blockIdx.x];
    store_block_sum(sums_of_thread(batch.sums + item.first_chunk, item.blocks, threadIdx.x), item.sum);
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

using CastKernel = void (*)(CastWork);
using DivideKernel = void (*)(DivideWork);
using SquaresKernel = void (*)(SquaresBatch);

CastKernel cast_kernel(int32_t to, int32_t from) {
    return with_float_format(from, [to](auto source) {
        return with_float_format(to, [](auto result) -> CastKernel { return cast<decltype(source), decltype(result)>; });
    });
}

DivideKernel divide_kernel(unsigned element_size) {
    switch (element_size) {
        case 1:
            return divide<uint8_t>;
        case 2:
            return divide<uint16_t>;
        case 4:
            return divide<uint32_t>;
        default:
            return divide<uint64_t>;
    }
}

SquaresKernel squares_kernel(int32_t dtype) {
    return with_float_format(dtype, [](auto format) -> SquaresKernel { return squares<decltype(format)>; });
}

} // namespace

int launch_copies(const SmallCopyBatch &batch, Grid grid) {
    return launch(copies<SmallCopyBatch>, batch, grid);
}

int launch_copies(const LargeCopyBatch &batch, Grid grid) {
    return launch(copies<LargeCopyBatch>, batch, grid);
}

int launch_cast(int32_t to, int32_t from, const CastWork &work, Grid grid) {
    return launch(cast_kernel(to, from), work, grid);
}

int launch_divide(unsigned element_size, const DivideWork &work, Grid grid) {
    return launch(divide_kernel(element_size), work, grid);
}

int launch_squares(int32_t dtype, const SquaresBatch &batch, cudaStream_t stream) {
    const int error = launch(squares_kernel(dtype), batch, {batch.blocks, stream});
    return error != 0 ? error : launch(sum_blocks, batch, {batch.count, stream});
}

int launch_spin(uint64_t nanoseconds, cudaStream_t stream) {
    void *arguments[] = {&nanoseconds};
    return cudaLaunchKernel(reinterpret_cast<const void *>(spin), dim3(1), dim3(1), arguments, 0, stream);
}

int load_transforms() {
    int error = load(copies<SmallCopyBatch>);
    if (error == 0) error = load(copies<LargeCopyBatch>);
    for (int32_t from = MDIST_FLOAT32; from <= MDIST_BFLOAT16; ++from) {
        for (int32_t to = MDIST_FLOAT32; to <= MDIST_BFLOAT16 && error == 0; ++to) error = load(cast_kernel(to, from));
        if (error == 0) error = load(squares_kernel(from));
    }
    for (unsigned size = 1; size <= 8 && error == 0; size *= 2) error = load(divide_kernel(size));
    if (error == 0) error = load(sum_blocks);
    return error != 0 ? error : load(spin);
}

} // namespace mdist::cuda
