// SPDX-License-Identifier: Apache-2.0
// The fake's two tables.
#pragma once

#include "device/gpu/module.h"

namespace fake_gpu {

extern const mdist_gpu_api gpu_table;
/// NCCL's, or null and why not.
const mdist_nccl_api *nccl_table(const char **reason);
uint64_t live_comms();

} // namespace fake_gpu
