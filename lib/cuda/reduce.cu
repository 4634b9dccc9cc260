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

} // namespace

int launch_reduce(const ReduceWay &way, const AnyBatch &batch, Grid grid) {
    switch (way.dtype) {
        case MDIST_FLOAT32:
            return launch(reduce<Plain<float>>, batch, grid);
        case MDIST_FLOAT64:
            return launch(reduce<Plain<double>>, batch, grid);
        case MDIST_FLOAT16:
            return launch(reduce<Float16>, batch, grid);
        case MDIST_BFLOAT16:
            return launch(reduce<Bfloat16>, batch, grid);
        case MDIST_INT8:
        case MDIST_UINT8:
            return launch(reduce<Plain<uint8_t>>, batch, grid);
        case MDIST_INT16:
        case MDIST_UINT16:
            return launch(reduce<Plain<uint16_t>>, batch, grid);
        case MDIST_BOOL:
            return launch(reduce<Bool>, batch, grid);
        case MDIST_INT32:
        case MDIST_UINT32:
            return launch(reduce<Plain<uint32_t>>, batch, grid);
        default:
            return launch(reduce<Plain<uint64_t>>, batch, grid);
    }
}

} // namespace mdist::cuda
