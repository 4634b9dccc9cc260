// SPDX-License-Identifier: Apache-2.0
// The place of a replica in a collective of a step: among all replicas, or in the group that the options name.
#pragma once

#include "api/replica_guard.h"
#include "comm/call/call.h"
#include "strategy/job/replica_group.h"

#include <mdist/group.h>

#include <memory>

namespace mdist {

struct GroupSeat {
    std::shared_ptr<ReplicaGroup> group; // nullptr: all replicas
    Seat seat;

    /// Puts a call, whose root is a replica id, into the group. Throws INVALID_ARGUMENT if the root is not a member.
    void place(Call &call) const;
    /// Throws WRONG_CONTEXT while the replica's stream is recorded, if this is in a group.
    void require_running(const Replica &replica) const;
    /// Waits for what the replica has started there before.
    void await_turn(Replica &replica, const char *function) const;
};

/// Who meets in a blocking collective with these options.
Others others_in(const mdist_call_options_t *options);

/// Throws INVALID_ARGUMENT if the group belongs to another strategy or the local replica is not a member.
GroupSeat seat_of(Job &job, uint32_t local, const mdist_call_options_t *options);
/// The same for the replica of this context, with require_running().
GroupSeat seat_of(Replica &replica, const mdist_call_options_t *options);

} // namespace mdist
