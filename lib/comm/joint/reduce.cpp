// SPDX-License-Identifier: Apache-2.0
#include "comm/flat.h"
#include "comm/joint/collectives.h"
#include "comm/joint/operation.h"
#include "comm/schedules/all_reduce.h"
#include "comm/schedules/rails.h"
#include "reduce/float_environment.h"

#include <vector>

namespace mdist::joint {
namespace {

/// The calls' buffers, one row per dtype.
std::vector<Flat> rows_of(const Workers &workers, const Call *const *calls) {
    std::vector<Flat> rows;
    for (const int32_t dtype : dtypes_of(*calls[0]))
        rows.emplace_back(calls, workers.replicas_per_worker(), dtype, workers.cut(), workers.self());
    return rows;
}

/// Whether all partials go with the headers: if they fit, and while that is quicker than the longer way of fewer bytes.
/// By figures that are the same on every worker, since all must decide alike.
bool is_small(const std::vector<Flat> &rows, const Workers &workers) {
    // What a host may send more than it would there, for each worker that it need not send anything to; measured at
    // 1 Gbit/s (docs/performance.md).
    constexpr std::size_t kMoreBytes = 6144;
    const DoublingPlan &plan = workers.doubling();
    std::size_t bytes = 0; // of all rows' partials of one subtree; they grow at most once, after the first round
    for (const Flat &row : rows)
        bytes += row.elements() * reduce::partial_size(row.dtype(), plan.cut(plan.rounds() - 1));
    const std::size_t hosts = workers.count() / workers.per_host();
    const std::size_t there = 2 * bytes * (hosts - 1) / hosts;
    return bytes * plan.most_partials() <= SmallExchange::kPayloadLimit &&
           bytes * plan.most_crossing() <= there + kMoreBytes * (workers.count() - 1);
}

} // namespace

void all_reduce(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    if (workers.all_share()) return JointOperation::all_reduce_shared(workers, calls, timeout_ns);
    const reduce::FloatEnvironment environment;
    const std::vector<Flat> rows = rows_of(workers, calls);
    if (is_small(rows, workers)) return JointOperation::all_reduce_small(workers, *calls[0], rows, timeout_ns);
    JointOperation operation(workers, *calls[0], nullptr, 0, timeout_ns);
    for (const Flat &row : rows) {
        if (row.elements() == 0) continue;
        if (workers.per_host() > 1) {
            operation.run<Rails>(operation.tag(), row, workers.per_host(), operation.scratch());
        } else {
            operation.run<AllReduce>(operation.tag(), row, operation.scratch());
        }
    }
}

} // namespace mdist::joint
