// SPDX-License-Identifier: Apache-2.0
#include <mdist/tensor.h>

#include "cuda/launch.cuh"

namespace mdist::cuda {
namespace {

template <typename Format, unsigned sources>
__global__ void __launch_bounds__(kThreads) sums(const __grid_constant__ SumBatch batch) {
    for (uint32_t chunk = blockIdx.x; chunk < batch.chunks; chunk += gridDim.x)
        sum_chunk<Format, sources>(batch, chunk, threadIdx.x);
}

using Kernel = void (*)(SumBatch);

template <typename Format>
Kernel kernel_of(unsigned sources) {
    static constexpr Kernel kernels[] = {sums<Format, 1>, sums<Format, 2>, sums<Format, 3>, sums<Format, 4>,
                                         sums<Format, 5>, sums<Format, 6>, sums<Format, 7>, sums<Format, 8>};
    return kernels[sources - 1];
}

Kernel kernel_of(int32_t dtype, unsigned sources) {
    return with_float_format(dtype, [sources](auto format) { return kernel_of<decltype(format)>(sources); });
}

} // namespace

int launch_reduce(const ReduceWay &way, const SumBatch &batch, Grid grid) {
    return launch(kernel_of(way.dtype, way.sources), batch, grid);
}

int load_sums() {
    int error = 0;
    for (int32_t dtype = MDIST_FLOAT32; dtype <= MDIST_BFLOAT16; ++dtype)
        for (unsigned sources = 1; sources <= kUnrolled && error == 0; ++sources)
            error = load(kernel_of(dtype, sources));
    return error;
}

} // namespace mdist::cuda
