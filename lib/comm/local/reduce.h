// SPDX-License-Identifier: Apache-2.0
// One party's part in an all-reduce or a reduction to a root, in two ways; the size of the call decides which. See
// party_work.h for what a part of the work is.
#pragma once

#include "comm/call/pointers.h"
#include "comm/local/group.h"

namespace mdist {

/// Whether a call is one of these.
inline bool sums_all(const Call &call) {
    return call.kind->traits().sums && !call.kind->traits().cuts;
}

/// For small calls. Each party copies its inputs to memory that stays readable after the call, so one meeting is
/// enough, and each party computes the whole result. This is cheaper than a second meeting while the inputs of all
/// parties fit a first-level cache.
class StagedReduce {
  public:
    static bool fits(const Group &group, const Call &call);

    StagedReduce(Group &group, uint32_t party, const Call &call);
    uint64_t total() const { return 0; }
    uint64_t run();

  private:
    Group &group_;
    const Call &call_;
    uint64_t round_ = 0;
    Pointers<const void *> sources_;
};

/// For large calls. All buffers, end to end, are cut into chunks. Each party takes the next free chunk, sums it over
/// all inputs, and writes it to all outputs. Fixed shares would leave the others idle when one party loses its core;
/// chunks keep them busy. The bits of a chunk do not depend on who computes it.
class ChunkedReduce {
  public:
    ChunkedReduce(Group &group, uint32_t party, const Call &call);
    uint64_t total() const { return total_; }
    uint64_t run();

  private:
    uint64_t next();
    void reduce_chunk(uint64_t index);
    void reduce_stretch(std::size_t b, std::size_t begin, std::size_t end);

    Group &group_;
    const Call &call_;
    const uint32_t party_;
    Pointers<const void *> sources_;
    Pointers<void *> destinations_;
    std::size_t bytes_ = 0; // of all buffers, each padded to whole lines, so that chunks are of whole elements
    std::size_t chunk_bytes_ = 0;
    uint64_t total_ = 0;
    uint64_t reserved_ = 0;
    // The chunks that a party takes only go up, so the search for their buffers continues from here.
    std::size_t buffer_ = 0;
    std::size_t buffer_begin_ = 0;
};

} // namespace mdist
