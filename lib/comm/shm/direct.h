// SPDX-License-Identifier: Apache-2.0
// An all-reduce straight from and to buffers in the workers' arenas; see group.h.
#pragma once

#include "comm/call.h"
#include "comm/shm/steps.h"
#include "reduce/reduce.h"

#include <vector>

namespace mdist {

/// Where a worker's buffers lie in its segment, for mates to read: what travels as the payload of the meeting.
class ShmPlaces {
  public:
    /// Bytes for that many buffers on so many replicas.
    static std::size_t bytes(uint32_t replicas, std::size_t buffer_count) {
        return sizeof(uint64_t) * 2 * replicas * buffer_count;
    }
    /// Writes this worker's places to `to`.
    static void write(const ShmMates &mates, const Call *const *calls, uint32_t replicas, char *to);

    /// Reads everybody's: payloads[rank], until the next meeting. False unless all buffers of all can be read.
    bool read(const ShmMates &mates, const Call &call, uint32_t replicas, const std::vector<const char *> &payloads);

    const char *input(uint32_t rank, uint32_t replica, std::size_t buffer) const {
        return at_[((rank * replicas_) + replica) * buffers_ + buffer];
    }
    /// The first replica's: all have the same results.
    const char *output(uint32_t rank, std::size_t buffer) const { return outputs_[rank * buffers_ + buffer]; }

  private:
    uint32_t replicas_ = 0;
    std::size_t buffers_ = 0;
    std::vector<const char *> at_;
    std::vector<const char *> outputs_;
};

void reduce_direct(ShmSteps &steps, const ShmPlaces &places, const Call *const *calls, uint32_t replicas,
                   FunctionRef<void()> keep_going);

} // namespace mdist
