// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/halved_sum.h"

#include "comm/plan/lengths.h"
#include "comm/workers/by_plan.h"
#include "comm/workers/told_operation.h"
#include "util/dtype.h"

namespace mdist::workers {
namespace {

std::vector<char> own_table(const Collective &asked) {
    const std::vector<uint64_t> table = ToldLengths::table_of(asked.calls, asked.span().count());
    const auto *const bytes = reinterpret_cast<const char *>(table.data());
    return {bytes, bytes + table.size() * sizeof(uint64_t)};
}

/// Whether a call is one that would go this way if its lengths were known.
bool is_one_to_halve(const Collective &asked) {
    const WorkerGroup &workers = asked.workers;
    const Call &call = asked.call();
    if (call.kind->pattern() != Pattern::kReduceScatter || !workers.relays()) return false;
    if (workers.layout() != nullptr) return false; // in a group, nobody could say who is late
    if (!HalvingSum::fits(workers.two_by_two(), workers.count())) return false;
    if (!has_small_tables(asked)) return false;
    // Measured with 4 and 8 workers over TCP on one host (docs/performance/sockets.md, "Halving and larger relays").
    constexpr std::size_t kMost = 262144;
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        bytes += call.inputs[b].elements * reduce::partial_size(call.inputs[b].dtype, workers.cut());
    return bytes * workers.cut().most() <= kMost;
}

} // namespace

bool may_halve(const Collective &asked) {
    if (!is_one_to_halve(asked)) return false;
    const auto &all = asked.workers.remembered_tables();
    const auto found = all.find(fingerprint(asked.call()));
    return found != all.end() && found->second.again;
}

void perform_halving(const Collective &asked) {
    const Blobs &expected = asked.workers.remembered_tables().at(fingerprint(asked.call())).tables;
    const std::vector<ReduceRow> rows = rows_of_parts(asked, told_lengths(asked, expected));
    const std::vector<char> own = own_table(asked);
    WorkerOperation operation(asked.workers, asked.call(), rows, expected, own, asked.timeout_ns);
    HalvingSum &sum = operation.halving();
    const ToldLengths lengths = told_lengths(asked, sum.tables());
    try {
        check_told(lengths, asked);
    } catch (const Failure &failure) {
        operation.fail(failure);
    }
    if (sum.as_expected()) return sum.finish();
    remember_tables(asked, sum.tables()); // changes `expected`
    send_by_plan(asked, lengths, operation);
}

void remember_tables(const Collective &asked, const Blobs &tables) {
    constexpr std::size_t kMost = 256;
    if (!is_one_to_halve(asked)) return;
    const uint64_t print = fingerprint(asked.call());
    auto &all = asked.workers.remembered_tables();
    const auto found = all.find(print);
    if (found != all.end()) {
        found->second.again = found->second.tables == tables;
        if (!found->second.again) found->second.tables = tables;
        return;
    }
    if (all.size() >= kMost) all.clear();
    all.try_emplace(print, WorkerGroup::Told{tables, false});
}

} // namespace mdist::workers
