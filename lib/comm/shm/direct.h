// SPDX-License-Identifier: Apache-2.0
// Direct: an all-reduce that reads and writes buffers in the workers' arenas in place; see group.h.
#pragma once

#include "comm/call/call.h"
#include "comm/shm/steps.h"
#include "reduce/reduce.h"
#include "reduce/spans.h"

#include <vector>

namespace mdist {

/// ShmPlaces: where a worker's buffers lie in its segment, so that mates can read them. It travels as the payload of
/// the meeting.
class ShmPlaces {
  public:
    /// The size of the places of that many buffers on that many replicas.
    static std::size_t bytes(uint32_t replicas, std::size_t buffer_count) {
        return sizeof(uint64_t) * 2 * replicas * buffer_count;
    }
    /// Writes this worker's places to `to`.
    static void write(const ShmMates &mates, const Call *const *calls, uint32_t replicas, char *to);

    /// Reads every worker's places: payloads[rank], which stay valid until the next meeting. Returns false unless all
    /// buffers of all workers can be read.
    bool read(const ShmMates &mates, const Call &call, const Spans &spans, const std::vector<const void *> &payloads);

    /// Number of replicas in the job.
    std::size_t replicas() const { return inputs_.size() / buffers_; }
    const char *input(uint32_t replica, std::size_t buffer) const { return inputs_[replica * buffers_ + buffer]; }
    /// The output of that worker's first replica: all its replicas have the same results.
    const char *output(uint32_t rank, std::size_t buffer) const { return outputs_[rank * buffers_ + buffer]; }

  private:
    std::size_t buffers_ = 0;
    std::vector<const char *> inputs_;  // by replica, by buffer
    std::vector<const char *> outputs_; // by worker, by buffer
};

/// How this worker writes the results of an operation to its arena. The others may do it in another way.
struct DirectWriting {
    /// Whether sums go straight to the output, instead of being made in private memory first (kShmBlockBytes).
    bool straight = false;
    /// Whether results of others are copied past the caches.
    bool past_caches = false;
};

/// Chooses that for each operation.
struct DirectWay {
    /// Whether the workers' cores share a cache.
    bool straight = false;
    /// Results pass the caches if this worker writes so many bytes before it writes to the same memory again.
    uint64_t past_caches_from = uint64_t{32} << 20;

    static DirectWay of(const ShmMates &mates) { return {.straight = mates.share_cache()}; }
    /// For results before whose end so many bytes were written (Reuse).
    DirectWriting writing(uint64_t bytes) const {
        return {.straight = straight, .past_caches = bytes >= past_caches_from};
    }
};

/// All-reduces. `replicas` is the number of this worker's replicas.
void reduce_direct(ShmSteps &steps, const ShmPlaces &places, const Call *const *calls, uint32_t replicas,
                   DirectWriting writing, FunctionRef<void()> keep_going);

} // namespace mdist
