// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/sums.h"

#include "comm/schedules/all_reduce.h"
#include "comm/schedules/rails.h"
#include "comm/schedules/tree_sum.h"
#include "comm/workers/sizes.h"

#include <algorithm>
#include <optional>

namespace mdist::workers {
namespace {

/// One operation in which the first row's partials follow the headers. `more` are further arguments of the schedule.
template <class Sum, class... More>
void sum_behind_headers(const Collective &asked, const std::vector<uint32_t> &peers, More... more) {
    const std::vector<ReduceRow> rows = rows_of_sum(asked);
    const auto some = [](const ReduceRow &row) { return row.elements() != 0; };
    auto row = std::find_if(rows.begin(), rows.end(), some);
    std::optional<Sum> first;
    WorkerOperation operation(asked.workers, asked.call(), asked.timeout_ns);
    operation.agree_before(
        [&] {
            if (row != rows.end())
                first.emplace(operation.link(), operation.tag(), *row, more..., operation.scratch(),
                              Start::kBehindHeaders);
        },
        {}, peers);
    if (!first) return;
    operation.run_on(*first);
    while ((row = std::find_if(row + 1, rows.end(), some)) != rows.end())
        operation.run<Sum>(operation.tag(), *row, more..., operation.scratch());
}

/// What a block gives in the last round in which blocks join. Its partials grow at most once, after the first.
std::size_t tree_bytes(const Collective &asked) {
    const Call &call = asked.call();
    const JoinPlan &plan = asked.workers.join_plan();
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        bytes += call.inputs[b].elements * reduce::partial_size(call.inputs[b].dtype, plan.cut(plan.joins() - 1));
    return bytes * plan.most_partials();
}

/// A worker's mates, and the workers in the same place on the other hosts.
std::vector<uint32_t> rail_peers(const Workers &workers) {
    const uint32_t per_host = workers.per_host(), self = workers.self();
    std::vector<uint32_t> peers;
    for (uint32_t worker = 0; worker < workers.count(); ++worker)
        if (worker != self && (worker / per_host == self / per_host || worker % per_host == self % per_host))
            peers.push_back(worker);
    return peers;
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

void sum_along_rails(const Collective &asked) {
    // In a group of replicas only who tells a worker directly is known to have come.
    const bool all = asked.workers.layout() != nullptr;
    sum_behind_headers<Rails>(asked, all ? std::vector<uint32_t>() : rail_peers(asked.workers),
                              asked.workers.per_host());
}

void sum_by_segments(const Collective &asked) {
    sum_behind_headers<AllReduce>(asked, {});
}

void sum_rows(const Collective &asked, const std::vector<ReduceRow> &rows, WorkerOperation &operation) {
    const Workers &workers = asked.workers;
    const bool has_many_peers =
        !workers.meets_directly() && (workers.per_host() > 1 || workers.count() > sizes::kMostPeers);
    if (has_many_peers && tree_bytes(asked) <= sizes::kTreeScatter)
        return operation.run<TreeSum>(operation.header(), workers.join_plan(), rows, operation.scratch());
    for (const ReduceRow &row : rows)
        if (row.elements() != 0) operation.run<AllReduce>(operation.tag(), row, operation.scratch());
}

} // namespace mdist::workers
