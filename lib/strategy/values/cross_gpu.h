// SPDX-License-Identifier: Apache-2.0
// Reductions of cross-replica context whose buffers lie on GPUs: there, or among copies on the host. The streams have
// been waited for; done on return. The caller holds the turn.
#pragma once

#include "comm/call.h"
#include "device/device.h"
#include "util/function_ref.h"

#include <vector>

namespace mdist {

class Strategy;

/// A device of the strategy that reaches all of these; nullptr: not all lie on GPUs, or none reaches all.
Device *gpu_that_reaches(const Strategy &strategy, const std::vector<mdist_buffer_t> &buffers);

/// Reduces the local replicas' calls into the outputs of the first `outputs` of them on a GPU that reaches all of it.
/// False if there is none, and nothing has happened.
bool reduce_on_gpu(const Strategy &strategy, const std::vector<Call> &calls, std::size_t outputs);

/// Calls `run` with the local replicas' calls, for those among which buffers lie on GPUs with copies of them on the
/// host, from which the outputs are copied back.
void among_hosts(const Strategy &strategy, std::vector<Call> &calls, FunctionRef<void(std::vector<Call> &)> run);

} // namespace mdist
