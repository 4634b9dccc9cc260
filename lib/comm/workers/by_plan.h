// SPDX-License-Identifier: Apache-2.0
// The moves of a plan as messages between workers.
#pragma once

#include "comm/plan/lengths.h"
#include "comm/workers/collective.h"
#include "comm/workers/operation.h"

namespace mdist::workers {

/// Carries out the plan of a call in an operation that all workers have come to. Must run within a
/// reduce::FloatEnvironment.
void send_by_plan(const Collective &collective, const Lengths &lengths, WorkerOperation &operation);

} // namespace mdist::workers
