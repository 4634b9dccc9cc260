// SPDX-License-Identifier: Apache-2.0
// What a communicator of the fake does when a stream comes to it. By one thread at a time per communicator.
#pragma once

#include "nccl_shared.h"

#include <atomic>
#include <vector>

namespace fake_gpu {

struct NcclCall {
    CallHeader header; // root: of messages, the peer
    const void *from = nullptr;
    void *to = nullptr;
};

/// One rank's side.
struct NcclSide {
    Shared &shared;
    int32_t device;
    int32_t ranks;
    int32_t rank;
    const std::atomic<bool> &aborted;
    uint64_t phase = 0; // of collectives, so far
};

enum class Outcome { kDone, kAborted, kMismatch, kIllegalAddress };

/// Collectives one after another, then all messages at once. Waits for the others for as long as nobody aborts.
Outcome do_calls(NcclSide &side, const std::vector<NcclCall> &calls);

} // namespace fake_gpu
