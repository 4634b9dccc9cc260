// SPDX-License-Identifier: Apache-2.0
// Exchange: one party's part in a collective in which every party receives something of its own: broadcast, all_gather,
// reduce_scatter, all_to_all, gather_to_root (all but the root nothing), scatter.
//
// What a party receives is one piece of work, done by that party unless another one finds it undone: so nobody waits
// for a party that is asleep, or that only started its call.
#pragma once

#include "comm/group.h"
#include "comm/pointers.h"

namespace mdist {

class Exchange {
  public:
    /// Allocates, so before the meeting: behind it nothing may throw.
    Exchange(Group &group, uint32_t party, const Call &call);

    uint64_t total() const { return group_.parties(); }
    /// After the meeting. Returns how many pieces it did.
    uint64_t run();

  private:
    void deliver(uint32_t receiver);
    void gather(const Call &to);
    void reduce(uint32_t receiver, const Call &to);
    void scatter(uint32_t receiver, const Call &to);
    void transpose(uint32_t receiver, const Call &to);

    Group &group_;
    const uint32_t party_;
    const CallKind kind_;
    Pointers<const void *> sources_;
};

} // namespace mdist
