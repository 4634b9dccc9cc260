// SPDX-License-Identifier: Apache-2.0
// Sums in a group of replicas that are not listed worker by worker. The members of a worker then do not lie side by
// side in the tree, so a worker has no partials that are worth sending. The inputs themselves go to whoever sums them.
#pragma once

#include "comm/plan/plan.h"
#include "comm/workers/collective.h"
#include "comm/workers/operation.h"

namespace mdist::workers {

/// Carries out a move that is a sum. If one replica takes it, that replica's worker sums. If all take it, each worker
/// sums a share and gives it to the others; it comes to the outputs of this worker's first member only (see spread()).
void sum_scattered(const Collective &asked, const Move &move, WorkerOperation &operation);

} // namespace mdist::workers
