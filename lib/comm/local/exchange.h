// SPDX-License-Identifier: Apache-2.0
// Exchange: one party's part in a collective that gives each party data of its own: broadcast, all_gather,
// reduce_scatter, all_to_all, gather_to_root (only the root receives), scatter. It carries out a Plan within one
// process.
//
// The data for one party is one piece of work. The receiver does its own piece unless another party has claimed it
// first. So nobody waits for a party that is asleep, or that only started its call.
#pragma once

#include "comm/call/pointers.h"
#include "comm/local/group.h"

namespace mdist {

struct Move;

class Exchange {
  public:
    /// Allocates, so construct it before the meeting: after the meeting nothing may throw.
    Exchange(Group &group, uint32_t party) : group_(group), party_(party), sources_(group.parties()) {}

    uint64_t total() const { return group_.parties(); }
    /// Call after the meeting. Returns how many pieces it did.
    uint64_t run();

  private:
    Group &group_;
    const uint32_t party_;
    Pointers<const void *> sources_;
};

/// Makes a move to the buffers of `taker`, one of the calls, whose buffers all lie in this process: copies, or sums the
/// inputs of all. `sources` has room for one of each call.
void make_move(const Move &move, const Calls &calls, const Call &taker, const void **sources);

} // namespace mdist
