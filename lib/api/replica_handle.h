// SPDX-License-Identifier: Apache-2.0
// A replica's handle: one slot for as long as its strategy lives, under a new id for each step.
#pragma once

#include "strategy/replica.h"

#include <mdist/strategy.h>

namespace mdist {

/// Makes the handle for a step, kept with the replica from the first on. May throw then.
mdist_replica_t *renew_handle(Replica &replica);
/// The one made last.
mdist_replica_t *current_handle(const Replica &replica) noexcept;
/// Gives it up. Calls under way keep the replica alive.
void retire_handle(Replica &replica) noexcept;

} // namespace mdist
