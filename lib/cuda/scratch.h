// SPDX-License-Identifier: Apache-2.0
// Scratch: memory that two kernels of one stream need between them. Any thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mdist::cuda {

struct Scratch {
    void *data = nullptr;
    bool ordered = false; // allocated and freed in the stream's order; otherwise freeing waits for the GPU
};

/// `device` must be the current one. Returns an error number.
int take_scratch(int32_t device, std::size_t bytes, cudaStream_t stream, Scratch &scratch);
int give_back(const Scratch &scratch, cudaStream_t stream);

} // namespace mdist::cuda
