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
    return with_format(dtype, [](auto format) -> Kernel { return reduce<decltype(format)>; });
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
