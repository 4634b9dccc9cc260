// SPDX-License-Identifier: Apache-2.0
// The decisions of a regroup, as functions of what the store knows: from which commit the job goes on, and which
// workers go if some cannot reach each other. No state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "membership/protocol/generation.h"

namespace mdist {

/// The newest commit that one worker has marked and whose parts are all whole among the workers. `held`: of the living
/// workers. Without such a commit, `resume` is none and `lost` lists the replicas whose parts are missing from the
/// newest marked commit. `lost` is empty if no worker has marked any.
struct Recovery {
    std::optional<CommitId> resume;
    std::vector<uint32_t> lost;
};
Recovery recover(const std::vector<Holdings> &held, uint32_t replicas);

/// Chooses workers to drop, so that all others can reach each other. `unreachable[rank]`: the ranks that this worker
/// could not connect with. While a pair remains, the one with fewer good links goes; if both have as many, the higher
/// rank. Good links are those with workers that are not dropped.
std::set<uint32_t> choose_dropped(const std::vector<std::set<uint32_t>> &unreachable);

} // namespace mdist
