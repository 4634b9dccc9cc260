// SPDX-License-Identifier: Apache-2.0
// Halved sums: a quicker way for reduce-scatters of medium size, by recursive halving (schedules/halving_sum.h). It
// needs the lengths of all pieces beforehand. If the last two calls that looked the same had the same lengths, it takes
// those. If some are others now, the call goes on by the plan.
#pragma once

#include "comm/workers/collective.h"

namespace mdist::workers {

/// Whether the call may be done this way. The same on all workers.
bool may_halve(const Collective &asked);
void perform_halving(const Collective &asked);

/// To be called in every call for which the workers tell each other the lengths, with their tables, so that may_halve()
/// knows of it.
void remember_tables(const Collective &asked, const Blobs &tables);

} // namespace mdist::workers
