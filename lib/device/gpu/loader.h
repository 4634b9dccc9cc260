// SPDX-License-Identifier: Apache-2.0
// The GPU module: found, loaded and asked once per process, when somebody first wants a GPU. Never unloaded.
//
// Looked for, in this order: $MDIST_CUDA_MODULE (an absolute path, and then nowhere else; not looked at in a process
// with raised privileges), libmdist-cuda.so beside libmdist.so, and in mdist/ beside it. Never in the working directory
// or by the system's search. Any thread.
#pragma once

#include "device/gpu/module.h"

#include <cstdint>
#include <string>

namespace mdist {

struct GpuSupport {
    const mdist_gpu_module *module = nullptr; // nullptr: none, or one that does not fit
    int32_t count = 0;                        // GPUs; 0 where there is no module
    std::string reason;                       // why there are none, as a sentence's part; "" if there are
};

/// Loads the module and counts GPUs, the first time. Throws bad_alloc alone.
const GpuSupport &gpu_support();

/// The module's table. Throws UNSUPPORTED, reason "no_gpu", naming `what` wanted it, where there are no GPUs.
const mdist_gpu_api &gpu_api(const std::string &what);

/// NCCL's table, loaded the first time; nullptr, and why, where there is none.
const mdist_nccl_api *nccl_api(std::string &reason);

} // namespace mdist
