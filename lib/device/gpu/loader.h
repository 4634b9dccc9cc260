// SPDX-License-Identifier: Apache-2.0
// Finds, loads and asks the GPU module, once per process, when somebody first wants a GPU. It is never unloaded.
//
// The places to look, in order:
//   1. $MDIST_CUDA_MODULE: an absolute path, and then nowhere else. Ignored in a process with raised privileges.
//   2. libmdist-cuda.so beside libmdist.so.
//   3. libmdist-cuda.so in mdist/ beside libmdist.so.
// The working directory and the system's search path are never used. Any thread.
#pragma once

#include "device/gpu/module.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mdist {

struct GpuSupport {
    const mdist_gpu_module *module = nullptr; // nullptr: none, or one that does not fit
    int32_t count = 0;                        // number of GPUs; 0 without a module
    std::string reason;                       // why there are none, as a part of a sentence; "" if there are
};

/// Loads the module and counts GPUs at the first call. Throws only bad_alloc.
const GpuSupport &gpu_support();

/// The module's table. If there are no GPUs, throws UNSUPPORTED, reason "no_gpu"; `what` names who wanted one.
const mdist_gpu_api &gpu_api(std::string_view what);

/// NCCL's table, loaded at the first call. nullptr if there is none; `reason` then says why.
const mdist_nccl_api *nccl_api(std::string &reason);

} // namespace mdist
