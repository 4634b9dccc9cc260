// SPDX-License-Identifier: Apache-2.0
// Parts: how the output of gathers and the input of scatters are made up of the replicas' pieces, one behind another in
// replica order. Between meet() and finish() only; every party comes to the same verdict.
#pragma once

#include "comm/group.h"

namespace mdist {

/// Elements before the part of `party` in buffer `buffer`.
uint64_t part_offset(const Group &group, uint32_t party, std::size_t buffer);

/// Throws INVALID_ARGUMENT where a buffer works in place, but not at its part of the whole, `offset` elements in.
void check_place(const Call &call, uint32_t replica, std::size_t buffer, uint64_t offset);

/// Throws MISMATCH where the parts do not add up to the whole on some replica, or a buffer that works in place is not
/// at its part.
void check_parts(const Group &group);

} // namespace mdist
