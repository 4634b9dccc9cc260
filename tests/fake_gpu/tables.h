// SPDX-License-Identifier: Apache-2.0
// The two tables of the simulated GPU.
#pragma once

#include "device/gpu/module.h"

namespace fake_gpu {

extern const mdist_gpu_api gpu_table;
/// Returns NCCL's table, or null and the reason.
const mdist_nccl_api *nccl_table(const char **reason);
uint64_t live_comms();

} // namespace fake_gpu
