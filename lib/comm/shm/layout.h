// SPDX-License-Identifier: Apache-2.0
// The layout of a worker's segment. Only the owner writes to it. So a count that two workers keep between them stands
// in two places: bytes put into a ring are counted in the sender's segment, bytes taken out in the receiver's.
#pragma once

#include "comm/call/operation_header.h"

#include "util/round_up.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sched.h>

namespace mdist {

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// Sizes of the parts. The same on all workers of the job, except for the arena.
struct ShmSizes {
    uint64_t workers = 0;     // of a block at most
    uint64_t ring_bytes = 0;  // for each mate; a power of two
    uint64_t small_bytes = 0; // payload of a small operation
    uint64_t stage_bytes = 0; // one chunk of a large operation
    uint64_t arena_bytes = 0; // address space for memory that is given out

    /// The sizes for a job of that many workers.
    static ShmSizes for_workers(uint32_t workers);
};

/// What the owner has counted between itself and one mate, in both directions, one counter per cache line.
struct ShmLane {
    alignas(64) std::atomic<uint64_t> written; // bytes that the owner has put into its ring to the mate
    alignas(64) std::atomic<uint64_t> read;    // bytes that the owner has taken from the mate's ring to it
};

/// What a worker says at the start of an operation; for a small operation this is everything. If nothing is wrong and
/// the payload is tiny, mates read only the first cache line.
struct alignas(64) ShmSlot {
    static constexpr std::size_t kTiny = 40;

    std::atomic<uint64_t> round; // written last
    uint64_t sequence;
    uint64_t print;
    char tiny[kTiny];
    OperationHeader header; // read only if sequence or print differ
    // a payload of more than kTiny bytes follows

    char *payload(std::size_t bytes) { return bytes <= kTiny ? tiny : reinterpret_cast<char *>(this + 1); }
    const char *payload(std::size_t bytes) const {
        return bytes <= kTiny ? tiny : reinterpret_cast<const char *>(this + 1);
    }
};
static_assert(sizeof(ShmSlot) == 128);

/// How many chunks of large operations, counted over the life of the job, the owner has ...
struct alignas(64) ShmProgress {
    std::atomic<uint64_t> filled;  // put where mates read them
    std::atomic<uint64_t> reduced; // reduced, as far as its own share goes
    std::atomic<uint64_t> taken;   // taken the results from
};

struct ShmControl {
    // Written before the offer goes out.
    uint64_t rank;
    ShmSizes sizes;
    uint64_t threads;     // threads that wait for each other within the owner
    uint64_t usable_cpus; // limited by the quota of the owner's cgroup
    cpu_set_t affinity;
    int32_t doorbell; // OwnDoorbell::number()

    alignas(64) std::atomic<uint32_t> asleep; // threads that may be asleep until a mate rings
    std::atomic<uint32_t> polling;            // how many of them can be woken only by the doorbell
    alignas(64) std::atomic<uint32_t> rings;  // the word that sleepers sleep on
    std::atomic<uint32_t> closed;             // set when the owner takes part in nothing any more
    ShmProgress progress;
};

/// Offsets from OwnSegment::data(). Untouched memory costs nothing, so there is room for the largest block. Workers are
/// counted by their places in it.
class ShmLayout {
  public:
    static constexpr std::size_t kSlots = 2;
    static constexpr std::size_t kStages = 2;
    /// Between two workers there is a ring in each direction for each of these: collectives, and messages.
    static constexpr std::size_t kChannels = 2;

    explicit ShmLayout(const ShmSizes &sizes) : sizes_(sizes) {
        lanes_ = padded(sizeof(ShmControl));
        rings_ = padded(lanes_ + kChannels * sizes.workers * sizeof(ShmLane));
        slots_ = padded(rings_ + kChannels * sizes.workers * sizes.ring_bytes);
        slot_stride_ = padded(sizeof(ShmSlot) + sizes.small_bytes);
        stages_ = slots_ + kSlots * slot_stride_;
        arena_ = padded(stages_ + 2 * kStages * sizes.stage_bytes);
    }

    const ShmSizes &sizes() const { return sizes_; }
    std::size_t rings() const { return rings_; }
    std::size_t lane(uint32_t place, uint32_t channel) const { return lanes_ + at(place, channel) * sizeof(ShmLane); }
    std::size_t ring(uint32_t place, uint32_t channel) const { return rings_ + at(place, channel) * sizes_.ring_bytes; }
    std::size_t slot(uint64_t round) const { return slots_ + round % kSlots * slot_stride_; }
    std::size_t partials(uint64_t chunk) const { return stages_ + chunk % kStages * sizes_.stage_bytes; }
    std::size_t results(uint64_t chunk) const { return partials(chunk) + kStages * sizes_.stage_bytes; }
    std::size_t arena() const { return arena_; }
    std::size_t total() const { return padded(arena_ + sizes_.arena_bytes); }

  private:
    static constexpr std::size_t kPage = 4096;
    std::size_t at(uint32_t place, uint32_t channel) const { return channel * sizes_.workers + place; }
    static std::size_t padded(std::size_t bytes) { return round_up(bytes, kPage); }

    ShmSizes sizes_;
    std::size_t lanes_;
    std::size_t rings_;
    std::size_t slots_;
    std::size_t slot_stride_;
    std::size_t stages_;
    std::size_t arena_;
};

} // namespace mdist
