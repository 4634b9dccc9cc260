// SPDX-License-Identifier: Apache-2.0
// Map: a function over elements, dealt out to the replicas of the whole job, and its results stacked per replica.
#pragma once

#include "strategy/strategy.h"

#include <cstdint>
#include <vector>

namespace mdist {

/// The caller's function of one element. Throws or returns non-zero to fail the run.
using ElementFunction = FunctionRef<int32_t(Replica &, uint64_t element)>;

/// Runs `function` for elements 0 to `count` - 1, element i on replica i mod N of the job, each replica one after
/// another. What is set for a result is stacked along a new first dimension, one row for each of the replica's
/// elements, none where it has none. Arguments are the same for all elements, so none is per-replica.
void map_elements(Strategy &strategy, uint64_t count, const ElementFunction &function,
                  std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results, uint64_t timeout_ns);

} // namespace mdist
