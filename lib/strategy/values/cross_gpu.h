// SPDX-License-Identifier: Apache-2.0
// Where reductions of cross-replica context run whose buffers lie on GPUs: on a GPU, or on the host with copies of the
// buffers. The streams were waited for before; the work is done on return. The caller holds the turn.
#pragma once

#include "comm/call/call.h"
#include "device/device.h"
#include "util/function_ref.h"

#include <vector>

namespace mdist {

class Job;

/// A device of the strategy that reaches all of these buffers; nullptr: not all lie on GPUs, or no device reaches all.
Device *gpu_that_reaches(const Job &job, const std::vector<mdist_buffer_t> &buffers);

/// Where to reduce the local replicas' calls into the outputs of the first `outputs` of them: a GPU that reaches all
/// buffers. nullptr: on the host, or together with other workers.
Device *gpu_for(Job &job, const std::vector<Call> &calls, std::size_t outputs);

/// Calls `run` with the local replicas' calls. If any of their buffers lie on GPUs, passes copies on the host instead,
/// and copies the outputs back.
void among_hosts(const Job &job, std::vector<Call> &calls, FunctionRef<void(std::vector<Call> &)> run);

} // namespace mdist
