// SPDX-License-Identifier: Apache-2.0
// Sums whose lengths all workers know beforehand (all-reduce, reduction to a root), and the second half of others.
#pragma once

#include "comm/workers/collective.h"
#include "comm/workers/operation.h"

#include <vector>

namespace mdist::workers {

/// Whether such a sum is so small that it goes along the tree. The same on all workers.
bool is_small_sum(const Collective &collective);

/// The whole operation of a sum that needs no lengths: along the tree, or by splitting.
void sum_along_tree(const Collective &collective);
void sum_by_splitting(const Collective &collective);

/// Sums in an operation that all workers have come to.
void sum_rows(const Collective &collective, const std::vector<ReduceRow> &rows, WorkerOperation &operation);

/// The rows of such a sum.
std::vector<ReduceRow> rows_of_sum(const Collective &collective);

} // namespace mdist::workers
