// SPDX-License-Identifier: Apache-2.0
// Shared parts of both kinds of merge: with a function, and between mdist_merge_begin and mdist_merge_end.
#pragma once

#include "comm/call/call.h"
#include "strategy/steps/frame.h"

#include <cstddef>
#include <cstdint>

namespace mdist {

/// Returns when all local replicas have come to the same merge. They must use one `kind` of merge, and pass the same
/// number of arguments with the same dtypes (in merge_arguments).
void meet_to_merge(const Replica &replica, CallKind kind, std::size_t result_count, uint64_t timeout_ns);
/// Regroups the arguments of all local replicas.
std::vector<ValuePointer> regrouped_arguments(Frame &frame, uint32_t local_replicas);
/// Does replica 0's part: runs `merge`, and keeps the values that it returns for all local replicas. Fails the step if
/// it throws or ends its thread, or if some replica could not take its part of the values.
void keep_merged(Replica &replica, const char *function, FunctionRef<std::vector<ValuePointer>()> merge);

} // namespace mdist
