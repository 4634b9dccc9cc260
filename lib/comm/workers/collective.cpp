// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/collective.h"

#include "comm/call/buffers.h"
#include "comm/plan/plan.h"

#include <cstring>
#include <numeric>

namespace mdist::workers {
namespace {

std::vector<ReduceRow> rows_of(const WorkerGroup &workers, const Call *const *calls) {
    std::vector<ReduceRow> rows;
    if (calls[0]->kind->pattern() != Pattern::kReduce || shares(workers, *calls[0]) || !workers.in_order()) return rows;
    for (const int32_t dtype : dtypes_of(*calls[0])) rows.emplace_back(calls, dtype, workers.cut(), workers.self());
    return rows;
}

} // namespace

bool shares(const WorkerGroup &workers, const Call &call) {
    return workers.shared() != nullptr && workers.shared()->takes(call);
}

Collective collective_of(WorkerGroup &workers, const Call *const *calls, uint64_t timeout_ns) {
    return {workers, calls, timeout_ns, rows_of(workers, calls)};
}

std::vector<ReduceRow> rows_of_parts(const Collective &asked, const Lengths &lengths) {
    const std::size_t replicas = asked.workers.replica_count();
    std::vector<std::vector<uint64_t>> parts(asked.call().buffer_count, std::vector<uint64_t>(replicas + 1));
    Plan(asked.call(), lengths).each_move_of(asked.span(), [&](const Move &move) {
        parts[move.buffer][move.to + 1] = move.elements;
    });
    std::vector<ReduceRow> rows;
    for (std::size_t b = 0; b < parts.size(); ++b) {
        std::partial_sum(parts[b].begin(), parts[b].end(), parts[b].begin());
        rows.emplace_back(asked.calls, b, parts[b], asked.workers.cut(), asked.workers.self());
    }
    return rows;
}

void spread(const Collective &asked) {
    const Call &first = asked.call();
    for (uint32_t local = 1; local < asked.span().count(); ++local)
        for (std::size_t b = 0; b < first.buffer_count; ++b)
            if (first.outputs[b].elements != 0 && asked.calls[local]->outputs[b].data != first.outputs[b].data)
                std::memcpy(asked.calls[local]->outputs[b].data, first.outputs[b].data, bytes_of(first.outputs[b]));
}

} // namespace mdist::workers
