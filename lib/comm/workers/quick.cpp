// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/quick.h"

#include "comm/call/bad_message.h"
#include "comm/call/buffers.h"
#include "comm/schedules/all_reduce.h"
#include "comm/schedules/broadcast.h"
#include "comm/schedules/rails.h"
#include "comm/workers/carried.h"
#include "comm/workers/operation.h"
#include "comm/workers/small_parts.h"
#include "util/text.h"

#include <cstring>

namespace mdist::workers {
namespace {

bool is_all_reduce(const Collective &asked) {
    return pattern_of(asked.call()) == Pattern::kReduce;
}

/// Where all workers share memory, those in an all-reduce look for each other there first. Only the plan does so, too.
bool is_all_reduce_by_links(const Collective &asked) {
    return is_all_reduce(asked) && !asked.workers.all_share();
}

/// How many bytes more than in the longer way a host may send, since that takes more messages: so many for each worker
/// that it need not talk to or, where one speaks for its mates, half as many for each host and each of these mates.
/// Measured at 1 Gbit/s (docs/performance.md).
std::size_t worth_of_messages(const WorkerGroup &workers) {
    constexpr std::size_t kMoreBytes = 6144;
    const std::size_t mates = workers.per_host() - 1, hosts = workers.count() / workers.per_host();
    return workers.doubling().by_hosts() ? kMoreBytes * hosts * mates / 2 : kMoreBytes * (workers.count() - 1);
}

/// Whether to send all partials with the headers: they must fit, and it must be quicker than the longer way, which
/// sends fewer bytes.
bool is_small_all_reduce(const Collective &asked) {
    if (!is_all_reduce_by_links(asked)) return false;
    const DoublingPlan &plan = asked.workers.doubling();
    std::size_t bytes = 0; // all rows' partials of one subtree; they grow at most once, after the first round
    for (const ReduceRow &row : asked.rows)
        bytes += row.elements() * reduce::partial_size(row.dtype(), plan.cut(plan.joins() - 1));
    const std::size_t hosts = asked.workers.count() / asked.workers.per_host();
    const std::size_t there = 2 * bytes * (hosts - 1) / hosts;
    return bytes * plan.most_partials() <= SmallExchange::kPayloadLimit &&
           bytes * plan.most_crossing() <= there + worth_of_messages(asked.workers);
}

void along_rails(const Collective &asked) {
    WorkerOperation operation(asked.workers, asked.call(), nullptr, 0, asked.timeout_ns);
    for (const ReduceRow &row : asked.rows)
        if (row.elements() != 0)
            operation.run<Rails>(operation.tag(), row, asked.workers.per_host(), operation.scratch());
}

bool is_broadcast(const Collective &asked) {
    const Pattern pattern = pattern_of(asked.call());
    return pattern == Pattern::kBroadcast || pattern == Pattern::kFirst;
}

std::size_t broadcast_bytes(const Call &call) {
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b) bytes += bytes_of(call.outputs[b]);
    return bytes;
}

bool is_small_broadcast(const Collective &asked) {
    return is_broadcast(asked) && broadcast_bytes(asked.call()) <= SmallExchange::kPayloadLimit;
}

/// Copies the data to all local replicas. `from` holds the bytes of all buffers, one after another.
void deliver(const Collective &asked, const char *from) {
    const Call &first = asked.call();
    for (std::size_t b = 0; b < first.buffer_count; from += bytes_of(first.outputs[b]), ++b)
        if (first.outputs[b].elements != 0) std::memcpy(first.outputs[b].data, from, bytes_of(first.outputs[b]));
    spread(asked);
}

void broadcast_with_headers(const Collective &asked) {
    const Call &call = asked.call();
    const uint32_t root = asked.workers.spans().worker_of(call.root);
    const std::size_t bytes = broadcast_bytes(call);
    std::vector<char> payload;
    for (std::size_t b = 0; root == asked.workers.self() && b < call.buffer_count; ++b) {
        const mdist_buffer_t &input = asked.call_of(call.root).inputs[b];
        const char *const from = at(input, 0);
        if (input.elements != 0) payload.insert(payload.end(), from, from + bytes_of(call.outputs[b]));
    }
    WorkerGroup &workers = asked.workers;
    const bool by_relays = workers.relays() && bytes <= RelayedExchange::most_of_one(workers.count());
    WorkerOperation operation =
        by_relays ? WorkerOperation(workers, call, {payload.data(), payload.size()}, asked.timeout_ns, root)
                  : WorkerOperation(workers, call, payload.data(), payload.size(), asked.timeout_ns);
    if (operation.payload_bytes(root) != bytes)
        operation.fail(bad_message(asked.workers.rank(root),
                                   text(operation.payload_bytes(root), " bytes to all workers instead of ", bytes)));
    deliver(asked, operation.payload(root));
}

void broadcast_by_relays(const Collective &asked) {
    const Call &call = asked.call();
    const uint32_t root = asked.workers.spans().worker_of(call.root);
    WorkerOperation operation(asked.workers, call, nullptr, 0, asked.timeout_ns);
    std::vector<Broadcast::Range> ranges;
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const mdist_buffer_t &output = call.outputs[b];
        ranges.push_back({output.data, bytes_of(output)});
        if (root != asked.workers.self() || output.elements == 0) continue;
        const void *const from = asked.call_of(call.root).inputs[b].data;
        if (from != output.data) std::memcpy(output.data, from, bytes_of(output));
    }
    operation.run<Broadcast>(operation.tag(), root, ranges);
    spread(asked);
}

bool is_barrier_by_relays(const Collective &asked) {
    return pattern_of(asked.call()) == Pattern::kMeet && asked.workers.relays();
}

void meet_by_relays(const Collective &asked) {
    WorkerOperation(asked.workers, asked.call(), SmallExchange::Bytes(), asked.timeout_ns);
}

constexpr QuickWay kQuickWays[] = {
    {"all-reduce in shared memory",
     [](const Collective &asked) { return is_all_reduce(asked) && shares(asked.workers, asked.call()); },
     [](const Collective &asked) { WorkerOperation::all_reduce_shared(asked.workers, asked.calls, asked.timeout_ns); }},
    {"all-reduce with the headers, by doubling", is_small_all_reduce,
     [](const Collective &asked) {
         WorkerOperation::all_reduce_small(asked.workers, asked.call(), asked.rows, asked.timeout_ns);
     }},
    {"all-reduce along rails",
     [](const Collective &asked) { return is_all_reduce_by_links(asked) && asked.workers.per_host() > 1; },
     along_rails},
    {"barrier by relays", is_barrier_by_relays, meet_by_relays},
    {"small parts by relays", may_relay, perform_relaying},
    {"parts with the headers", may_carry, perform_carrying},
    {"broadcast with the headers", is_small_broadcast, broadcast_with_headers},
    {"broadcast by relays", is_broadcast, broadcast_by_relays},
};

} // namespace

std::span<const QuickWay> quick_ways() {
    return kQuickWays;
}

} // namespace mdist::workers
