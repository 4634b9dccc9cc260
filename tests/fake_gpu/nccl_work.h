// SPDX-License-Identifier: Apache-2.0
// The work of a simulated NCCL operation, when its stream reaches it. One thread at a time per communicator.
#pragma once

#include "nccl_shared.h"

#include <atomic>
#include <vector>

namespace fake_gpu {

struct NcclCall {
    CallHeader header; // for messages, root is the peer
    const void *from = nullptr;
    void *to = nullptr;
};

/// One rank's part of a communicator.
struct NcclSide {
    Shared &shared;
    int32_t device;
    int32_t ranks;
    int32_t rank;
    const std::atomic<bool> &aborted;
    uint64_t phase = 0; // the last phase of collectives
};

enum class Outcome { kDone, kAborted, kMismatch, kIllegalAddress };

/// Runs the collectives one after another, then all messages at once. Waits for the other ranks until somebody aborts.
Outcome do_calls(NcclSide &side, const std::vector<NcclCall> &calls);
/// The same. With the setting nccl_alone, begins when no other communicator works on the GPU.
Outcome do_calls_alone(NcclSide &side, const std::vector<NcclCall> &calls);

} // namespace fake_gpu
