// SPDX-License-Identifier: Apache-2.0
// What merges of both kinds share: those with a function and those between mdist_merge_begin and mdist_merge_end.
#pragma once

#include "comm/call.h"
#include "strategy/replica.h"

#include <cstddef>
#include <cstdint>

namespace mdist {

class Group;

/// Returns when all local replicas have come, by one `kind` of merge and with arguments of one count and dtypes (in
/// merge_arguments).
void meet_to_merge(Group &group, const Replica &replica, CallKind kind, std::size_t result_count, uint64_t timeout_ns);
/// Gives a replica what was merged.
void take_merged(Replica &replica);

} // namespace mdist
