// SPDX-License-Identifier: Apache-2.0
// Staged: an all-reduce through the stages of the workers' segments; see group.h.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/shm/steps.h"

namespace mdist {

/// All-reduces one row. Call it after the meeting.
void reduce_staged(ShmSteps &steps, const ReduceRow &row, FunctionRef<void()> keep_going);

} // namespace mdist
