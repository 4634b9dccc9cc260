// SPDX-License-Identifier: Apache-2.0
// Collectives among the parties of one group. Either the parties read each other's memory, or one party leads an
// executor for all of them (executors.h).
//
// Every party calls the function with its own Call, already checked by check_call. The function returns or throws the
// same on all parties. Cost per party in memory traffic, for n parties with b bytes each, within one worker:
//   all_reduce      b up to some KiB: copy b, meet, read n*b, write b. Beyond: meet, read b, write b, finish
//                   (each party reduces 1/n of all inputs into 1/n of all outputs)
//   reduce_scatter  meet, read b, write b/n, finish
//   others          meet, read what the party receives, write it, finish
// Each collective has two forms: one blocking call, and Operation (operation.h) for callers that do not wait.
#pragma once

#include "comm/executors.h"

namespace mdist {

/// Performs what the call's pattern says.
void perform_collective(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns);
/// The same, on buffers for which GpuGroup::holds() is true.
void perform_on_gpus(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns);

} // namespace mdist
