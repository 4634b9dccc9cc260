// SPDX-License-Identifier: Apache-2.0
// The handles that belong to a strategy and its replicas. A replica has one slot as long as its strategy lives, under a
// new id for each step.
#pragma once

#include "strategy/strategy.h"

#include <mdist/strategy.h>

#include <memory>

namespace mdist {

/// Makes the handle of a strategy. The handle owns the strategy.
mdist_strategy_t *publish_strategy(std::shared_ptr<Strategy> strategy);
/// The handle of the strategy that `job` belongs to. The handle may have been destroyed.
mdist_strategy_t *handle_of(const Job &job) noexcept;

/// Makes a replica's handle for a step. The first call attaches it to the replica and may throw.
mdist_replica_t *renew_handle(Strategy &strategy, Replica &replica);
/// The replica's last handle.
mdist_replica_t *current_handle(const Party &replica) noexcept;
/// Gives up the replica's handle. Calls under way keep the replica alive.
void retire_handle(Replica &replica) noexcept;
/// The strategy of a replica that has a handle.
Strategy &strategy_of(const Replica &replica) noexcept;

} // namespace mdist
