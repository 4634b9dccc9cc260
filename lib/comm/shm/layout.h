// SPDX-License-Identifier: Apache-2.0
// What stands where in a worker's segment. Everything in it is written by its owner alone; so what two workers count
// between them is in two places, each its own part: bytes put into a ring in the sender's segment, bytes taken out in
// the receiver's.
#pragma once

#include "comm/operation_header.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sched.h>

namespace mdist {

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// The same on all workers of the job, but for the arena.
struct ShmSizes {
    uint64_t workers = 0;
    uint64_t ring_bytes = 0;  // for each mate
    uint64_t small_bytes = 0; // payload of a small operation
    uint64_t stage_bytes = 0; // of one chunk of a large one
    uint64_t arena_bytes = 0; // address space for memory that is given out

    /// What suits a job of that many workers.
    static ShmSizes for_workers(uint32_t workers);
};

/// Between the owner and one mate: the owner's counters of both directions, on a line each.
struct ShmLane {
    alignas(64) std::atomic<uint64_t> written; // bytes that the owner has put into its ring to the mate
    alignas(64) std::atomic<uint64_t> read;    // bytes that the owner has taken from the mate's ring to it
};

/// What a worker says at the start of an operation, and all it says in one that is small. The first line is all that
/// mates read where nothing is wrong and the payload is tiny.
struct alignas(64) ShmSlot {
    static constexpr std::size_t kTiny = 40;

    std::atomic<uint64_t> round; // written last
    uint64_t sequence;
    uint64_t print;
    char tiny[kTiny];
    OperationHeader header; // read where sequence or print differ
    // behind it, the payload if more than kTiny

    char *payload(std::size_t bytes) { return bytes <= kTiny ? tiny : reinterpret_cast<char *>(this + 1); }
    const char *payload(std::size_t bytes) const {
        return bytes <= kTiny ? tiny : reinterpret_cast<const char *>(this + 1);
    }
};
static_assert(sizeof(ShmSlot) == 128);

/// Chunks of large operations, counted over the life of the job, that the owner has ...
struct alignas(64) ShmProgress {
    std::atomic<uint64_t> filled;  // put where mates read them
    std::atomic<uint64_t> reduced; // reduced its share of
    std::atomic<uint64_t> taken;   // taken the results of
};

struct ShmControl {
    // Written before the offer goes out.
    uint64_t rank;
    ShmSizes sizes;
    uint64_t threads;     // that wait for each other within the owner
    uint64_t usable_cpus; // with the quota of its cgroup
    cpu_set_t affinity;
    int32_t doorbell; // OwnDoorbell::number()

    alignas(64) std::atomic<uint32_t> asleep; // threads that may be asleep until a mate rings
    std::atomic<uint32_t> polling;            // of these, whether one can be woken by the doorbell alone
    alignas(64) std::atomic<uint32_t> rings;  // what sleepers sleep on
    std::atomic<uint32_t> closed;             // the owner takes part in nothing more
    ShmProgress progress;
};

/// Offsets from OwnSegment::data(). Memory that nobody touches costs nothing, so all is laid out for the whole job.
class ShmLayout {
  public:
    static constexpr std::size_t kSlots = 2;
    static constexpr std::size_t kStages = 2;

    explicit ShmLayout(const ShmSizes &sizes) : sizes_(sizes) {
        lanes_ = padded(sizeof(ShmControl));
        rings_ = padded(lanes_ + sizes.workers * sizeof(ShmLane));
        slots_ = padded(rings_ + sizes.workers * sizes.ring_bytes);
        slot_stride_ = padded(sizeof(ShmSlot) + sizes.small_bytes);
        stages_ = slots_ + kSlots * slot_stride_;
        arena_ = padded(stages_ + 2 * kStages * sizes.stage_bytes);
    }

    const ShmSizes &sizes() const { return sizes_; }
    std::size_t lane(uint32_t rank) const { return lanes_ + rank * sizeof(ShmLane); }
    std::size_t ring(uint32_t rank) const { return rings_ + rank * sizes_.ring_bytes; }
    std::size_t slot(uint64_t round) const { return slots_ + round % kSlots * slot_stride_; }
    std::size_t partials(uint64_t chunk) const { return stages_ + chunk % kStages * sizes_.stage_bytes; }
    std::size_t results(uint64_t chunk) const { return partials(chunk) + kStages * sizes_.stage_bytes; }
    std::size_t arena() const { return arena_; }
    std::size_t total() const { return padded(arena_ + sizes_.arena_bytes); }

  private:
    static constexpr std::size_t kPage = 4096;
    static std::size_t padded(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

    ShmSizes sizes_;
    std::size_t lanes_;
    std::size_t rings_;
    std::size_t slots_;
    std::size_t slot_stride_;
    std::size_t stages_;
    std::size_t arena_;
};

} // namespace mdist
