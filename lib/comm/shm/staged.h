// SPDX-License-Identifier: Apache-2.0
// An all-reduce through the stages of the workers' segments; see group.h.
#pragma once

#include "comm/flat.h"
#include "comm/shm/steps.h"

namespace mdist {

/// After the meeting. `most_partials`: of any worker.
void reduce_staged(ShmSteps &steps, const Flat &row, uint32_t most_partials, FunctionRef<void()> keep_going);

} // namespace mdist
