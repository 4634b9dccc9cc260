// SPDX-License-Identifier: Apache-2.0
#include <mdist/tensor.h>

#include "cuda/launch.cuh"

namespace mdist::cuda {
namespace {

template <typename Format>
__global__ void __launch_bounds__(kThreads) reduce(const __grid_constant__ AnyBatch batch) {
    for (uint32_t chunk = blockIdx.x; chunk < batch.chunks; chunk += gridDim.x)
        reduce_chunk<Format>(batch, chunk, threadIdx.x);
}

using Kernel = void (*)(AnyBatch);

Kernel kernel_of(int32_t dtype) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return reduce<Plain<float>>;
        case MDIST_FLOAT64:
            return reduce<Plain<double>>;
        case MDIST_FLOAT16:
            return reduce<Float16>;
        case MDIST_BFLOAT16:
            return reduce<Bfloat16>;
        case MDIST_INT8:
        case MDIST_UINT8:
            return reduce<Plain<uint8_t>>;
        case MDIST_INT16:
        case MDIST_UINT16:
            return reduce<Plain<uint16_t>>;
        case MDIST_BOOL:
            return reduce<Bool>;
        case MDIST_INT32:
        case MDIST_UINT32:
            return reduce<Plain<uint32_t>>;
        default:
            return reduce<Plain<uint64_t>>;
    }
}

} // namespace

int launch_reduce(const ReduceWay &way, const AnyBatch &batch, Grid grid) {
    return launch(kernel_of(way.dtype), batch, grid);
}

int load_reductions() {
    int error = 0;
    for (int32_t dtype = MDIST_FLOAT32; dtype <= MDIST_BOOL && error == 0; ++dtype) error = load(kernel_of(dtype));
    return error;
}

} // namespace mdist::cuda
