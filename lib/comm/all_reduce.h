// SPDX-License-Identifier: Apache-2.0
// One party's part in an all-reduce or a reduction to a root, in two ways; the size decides which. See perform.h for
// what a part is.
#pragma once

#include "comm/group.h"
#include "comm/pointers.h"

namespace mdist {

/// Small: everybody's inputs are copied to where they stay readable after the call, so that one meeting is enough, and
/// everybody computes the whole result. Cheaper than a second meeting as long as the inputs of all fit a first-level
/// cache.
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

/// Large: all buffers, end to end, are cut into chunks, and each party takes the next free chunk, sums it over all
/// inputs and writes it to all outputs. Taking chunks instead of fixed shares keeps the others busy when one party's
/// core is taken away. Whoever computes a chunk computes the same bits.
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
    // The chunks that a party takes only go up, so it finds their buffers from where it was.
    std::size_t buffer_ = 0;
    std::size_t buffer_begin_ = 0;
};

} // namespace mdist
