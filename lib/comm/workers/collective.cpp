// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/collective.h"

#include "comm/call/buffers.h"
#include "comm/plan/plan.h"

#include <cstring>
#include <numeric>

namespace mdist::workers {

bool shares(const Workers &workers, const Call &call) {
    return workers.shared() != nullptr && workers.shared()->takes(call);
}

std::vector<ReduceRow> rows_of(const Collective &asked) {
    std::vector<ReduceRow> rows;
    for (const int32_t dtype : dtypes_of(asked.call()))
        rows.emplace_back(asked.calls, dtype, asked.workers.cut(), asked.workers.self());
    return rows;
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
