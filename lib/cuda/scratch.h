// SPDX-License-Identifier: Apache-2.0
// Scratch: memory that is needed between two kernels of one stream. Any thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mdist::cuda {

struct Scratch {
    void *data = nullptr;
    bool ordered = false; // there and gone in the stream's order; else giving it back waits for the GPU
};

/// `device` is the current one. Returns an error number.
int take_scratch(int32_t device, std::size_t bytes, cudaStream_t stream, Scratch &scratch);
int give_back(const Scratch &scratch, cudaStream_t stream);

} // namespace mdist::cuda
