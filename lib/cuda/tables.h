// SPDX-License-Identifier: Apache-2.0
// Each function fills one part of the module's tables.
#pragma once

#include "device/gpu/module.h"

namespace mdist::cuda {

void fill_devices(mdist_gpu_api &api);
void fill_memory(mdist_gpu_api &api);
void fill_streams(mdist_gpu_api &api);
void fill_kernels(mdist_gpu_api &api);

/// NCCL's table, loaded at the first call. nullptr if there is none; `reason` then says why.
const mdist_nccl_api *nccl(const char **reason);

} // namespace mdist::cuda
