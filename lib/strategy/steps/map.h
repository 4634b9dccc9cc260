// SPDX-License-Identifier: Apache-2.0
// Map: calls a function for many elements, spread over the replicas of the whole job, and stacks its results per
// replica.
#pragma once

#include "strategy/steps/runs.h"

#include <cstdint>
#include <vector>

namespace mdist {

/// The user's function for one element. Throws or returns non-zero to fail the run.
using ElementFunction = FunctionRef<int32_t(Replica &, uint64_t element)>;

/// Calls `function` for elements 0 to `count` - 1. Element i runs on replica i mod N of the job; each replica runs its
/// elements one after another. Each result is stacked along a new first dimension, with one row for each of the
/// replica's elements, and no rows on a replica without elements. Arguments are the same for all elements, so none may
/// be per-replica.
void map_elements(Runs &runs, uint64_t count, const ElementFunction &function, std::vector<ValuePointer> arguments,
                  std::vector<ValuePointer> &results, uint64_t timeout_ns);

} // namespace mdist
