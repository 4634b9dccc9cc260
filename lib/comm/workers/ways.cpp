// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/ways.h"

#include "comm/workers/broadcast.h"
#include "comm/workers/parts.h"
#include "comm/workers/sums.h"
#include "reduce/float_environment.h"

namespace mdist::workers {
namespace {

/// A sum whose lengths all know.
bool is_sum(const Collective &asked) {
    const PatternTraits &traits = asked.call().kind->traits();
    return traits.sums && !traits.tells_lengths && asked.workers.in_order();
}

bool is_all_reduce(const Collective &asked) {
    return is_sum(asked) && asked.call().kind->pattern() == Pattern::kReduce;
}

bool is_broadcast(const Collective &asked) {
    return asked.call().kind->traits().broadcasts;
}

constexpr Way kWays[] = {
    {"barrier", [](const Collective &asked) { return asked.call().kind->pattern() == Pattern::kMeet; },
     [](const Collective &asked) { WorkerOperation(asked.workers, asked.call(), asked.timeout_ns).agree(); }},
    {"sum in shared memory",
     [](const Collective &asked) { return is_all_reduce(asked) && shares(asked.workers, asked.call()); },
     [](const Collective &asked) {
         WorkerOperation(asked.workers, asked.call(), asked.timeout_ns).all_reduce_shared(asked.calls);
     }},
    {"sum along the tree", [](const Collective &asked) { return is_sum(asked) && is_small_sum(asked); },
     sum_along_tree},
    {"sum by splitting", is_sum, sum_by_splitting},
    {"broadcast with the headers",
     [](const Collective &asked) { return is_broadcast(asked) && is_small_broadcast(asked); }, broadcast_with_headers},
    {"broadcast in chunks", is_broadcast, broadcast_in_chunks},
    {"parts", [](const Collective &) { return true; }, perform_parts},
};

} // namespace

std::span<const Way> ways() {
    return kWays;
}

void perform(const Collective &asked) {
    const reduce::FloatEnvironment environment;
    for (const Way &way : kWays)
        if (way.fits(asked)) return way.perform(asked);
}

} // namespace mdist::workers

namespace mdist {

void Workers::perform(const Call *const *calls, uint64_t timeout_ns) {
    guarded([&] { workers::perform({*this, calls, timeout_ns}); });
}

} // namespace mdist
