// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/collective.h"

#include "comm/call/buffers.h"

#include <cstring>

namespace mdist::workers {
namespace {

std::vector<ReduceRow> rows_of(const WorkerGroup &workers, const Call *const *calls) {
    std::vector<ReduceRow> rows;
    if (pattern_of(*calls[0]) != Pattern::kReduce || shares(workers, *calls[0]) || !workers.in_order()) return rows;
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

void spread(const Collective &asked) {
    const Call &first = asked.call();
    for (uint32_t local = 1; local < asked.span().count(); ++local)
        for (std::size_t b = 0; b < first.buffer_count; ++b)
            if (first.outputs[b].elements != 0 && asked.calls[local]->outputs[b].data != first.outputs[b].data)
                std::memcpy(asked.calls[local]->outputs[b].data, first.outputs[b].data, bytes_of(first.outputs[b]));
}

} // namespace mdist::workers
