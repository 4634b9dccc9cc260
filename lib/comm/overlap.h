// SPDX-License-Identifier: Apache-2.0
// Refuses buffers of one replica's call that share memory in a way that no order of work could make right.
#pragma once

#include "comm/call.h"

#include <vector>

namespace mdist {

/// Throws INVALID_ARGUMENT naming two buffers. Allowed: an output that is exactly its own input where the kind works in
/// place (all_gather and reduce_scatter: exactly the replica's part is checked when the group knows where that lies;
/// here any part inside of the other passes).
void check_overlap(const Call &call);
/// The same between the all-reduces of all replicas, at least one, which one thread knows. Each has passed by itself.
void check_overlap_among(const std::vector<Call> &calls);

} // namespace mdist
