// SPDX-License-Identifier: Apache-2.0
// Refuses buffers that share memory in a way that no order of work could make right.
#pragma once

#include "comm/call/call.h"

#include <vector>

namespace mdist {

/// Throws INVALID_ARGUMENT that names two overlapping buffers of one call. An output may be exactly its own input if
/// the kind works in place. For all_gather and reduce_scatter any part inside the other buffer passes here; the group
/// checks the exact place later, when it knows where the replica's part lies.
void check_overlap(const Call &call);
/// The same among the all-reduces of all replicas, when one thread knows them all. There is at least one call, and each
/// has passed check_overlap().
void check_overlap_among(const std::vector<Call> &calls);

} // namespace mdist
