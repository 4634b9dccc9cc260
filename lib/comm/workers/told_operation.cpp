// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/told_operation.h"

namespace mdist::workers {

ToldOperation::ToldOperation(const Collective &asked)
    : table_(ToldLengths::table_of(asked.calls, asked.span().count())),
      blobs_(asked.workers, asked.call(), table_.data(), table_.size() * sizeof(uint64_t), asked.timeout_ns),
      lengths_(told_lengths(asked, blobs_.blobs())) {
    try {
        check_told(lengths_, asked);
    } catch (const Failure &failure) {
        operation().fail(failure);
    }
}

ToldLengths told_lengths(const Collective &asked, const Blobs &tables) {
    const Call &call = asked.call();
    return {tables, asked.workers.spans(), call.buffer_count, ToldLengths::width(call), asked.workers.layout()};
}

bool has_small_tables(const Collective &asked) {
    constexpr std::size_t kMost = 16384; // bytes
    const Call &call = asked.call();
    return asked.workers.replica_count() * call.buffer_count * ToldLengths::width(call) * sizeof(uint64_t) <= kMost;
}

void check_told(const Lengths &lengths, const Collective &asked) {
    check_lengths(lengths, asked.call());
    const Span span = asked.span();
    for (uint32_t slot = span.first; slot < span.last; ++slot) {
        const uint32_t replica = asked.workers.position_of(slot);
        for (std::size_t b = 0; b < asked.call().buffer_count; ++b)
            check_place(asked.call_of(replica), replica, b, lengths.offset(replica, b));
    }
}

} // namespace mdist::workers
