// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/sums.h"

#include "comm/schedules/split_sum.h"
#include "comm/schedules/tree_sum.h"
#include "comm/workers/sizes.h"

#include <algorithm>
#include <optional>

namespace mdist::workers {
namespace {

/// What a block gives in the last round in which blocks join. Its partials grow at most once, after the first.
std::size_t tree_bytes(const Collective &asked) {
    const Call &call = asked.call();
    const JoinPlan &plan = asked.workers.join_plan();
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        bytes += call.inputs[b].elements * reduce::partial_size(call.inputs[b].dtype, plan.cut(plan.joins() - 1));
    return bytes * plan.most_partials();
}

} // namespace

std::vector<ReduceRow> rows_of_sum(const Collective &asked) {
    if (asked.call().kind->pattern() == Pattern::kReduce) return rows_of(asked);
    return rows_of_parts(asked, asked.same_lengths());
}

bool is_small_sum(const Collective &asked) {
    const Workers &workers = asked.workers;
    const uint32_t hosts = workers.count() / workers.per_host();
    // Where all workers share memory, those in an all-reduce look for each other there. In a group of replicas, who
    // hears of a worker only through others could not say that it is late.
    if (workers.all_share() || (workers.layout() != nullptr && workers.count() > 2)) return false;
    return tree_bytes(asked) <= sizes::tree_sum(hosts, workers.per_host());
}

void sum_along_tree(const Collective &asked) {
    const std::vector<ReduceRow> rows = rows_of_sum(asked);
    WorkerOperation(asked.workers, asked.call(), asked.timeout_ns).agree_by_tree_sum(rows);
}

void sum_by_splitting(const Collective &asked) {
    Workers &workers = asked.workers;
    const std::vector<ReduceRow> rows = rows_of_sum(asked);
    const SplitPlan &plan = workers.split_plan();
    const bool all_get_results = asked.call().kind->pattern() == Pattern::kReduce;
    WorkerOperation operation(workers, asked.call(), asked.timeout_ns);
    if (!all_get_results && !workers.meets_directly()) {
        operation.agree();
        return sum_rows(asked, rows, operation);
    }
    // Who gets results has heard of all through its peers. In a group of replicas, only who tells a worker directly is
    // known to have come.
    const bool peers_only = all_get_results && workers.layout() == nullptr;
    const auto some = [](const ReduceRow &row) { return row.elements() != 0; };
    auto row = std::find_if(rows.begin(), rows.end(), some);
    std::optional<SplitSum> first;
    operation.agree_before(
        [&] {
            if (row != rows.end())
                first.emplace(operation.link(), operation.tag(), *row, plan, operation.scratch(),
                              Start::kBehindHeaders);
        },
        {}, peers_only && row != rows.end() ? plan.peers(workers.self(), workers.join_plan()) : std::vector<uint32_t>());
    if (!first) return;
    operation.run_on(*first);
    while ((row = std::find_if(row + 1, rows.end(), some)) != rows.end())
        operation.run<SplitSum>(operation.tag(), *row, plan, operation.scratch());
}

void sum_rows(const Collective &asked, const std::vector<ReduceRow> &rows, WorkerOperation &operation) {
    for (const ReduceRow &row : rows)
        if (row.elements() != 0)
            operation.run<SplitSum>(operation.tag(), row, asked.workers.split_plan(), operation.scratch());
}

} // namespace mdist::workers
