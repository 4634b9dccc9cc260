// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/quick.h"

#include "comm/call/bad_message.h"
#include "comm/call/buffers.h"
#include "comm/schedules/all_reduce.h"
#include "comm/schedules/broadcast.h"
#include "comm/schedules/rails.h"
#include "comm/workers/carried.h"
#include "comm/workers/halved_sum.h"
#include "comm/workers/operation.h"
#include "comm/workers/small_parts.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>

namespace mdist::workers {
namespace {

bool is_all_reduce(const Collective &asked) {
    return asked.call().kind->pattern() == Pattern::kReduce;
}

/// Where all workers share memory, those in an all-reduce look for each other there first. Only the plan does so, too.
bool is_all_reduce_by_links(const Collective &asked) {
    return is_all_reduce(asked) && !asked.workers.all_share();
}

/// How many bytes more than all at once a host may send two by two, since that takes fewer messages. They count for
/// more, the more workers share the machine's cores. Measured at 1 Gbit/s (docs/performance/hosts.md, "Medium
/// all-reduce").
std::size_t worth_of_messages(const WorkerGroup &workers) {
    constexpr std::size_t kOfMate = 2560;  // where one worker speaks for its mates: for each of them, on each host
    constexpr std::size_t kOfWorker = 768; // otherwise: for each other worker, times their number (8 at most)
    constexpr std::size_t kMost = 8;
    const std::size_t mates = workers.per_host() - 1, hosts = workers.count() / workers.per_host();
    const std::size_t others = workers.count() - 1;
    return workers.two_by_two().by_hosts() ? kOfMate * hosts * mates : kOfWorker * others * std::min(others, kMost);
}

/// All rows' partials of one subtree, in the last round in which blocks join. They grow at most once, after the first.
std::size_t partial_bytes(const Collective &asked, const JoinPlan &plan) {
    std::size_t bytes = 0;
    for (const ReduceRow &row : asked.rows)
        bytes += row.elements() * reduce::partial_size(row.dtype(), plan.cut(plan.joins() - 1));
    return bytes;
}

/// Whether to send all partials with the headers, two by two: they must fit, and it must be quicker than all at once.
bool is_small_all_reduce(const Collective &asked) {
    if (!is_all_reduce_by_links(asked)) return false;
    const JoinPlan &plan = asked.workers.two_by_two();
    const std::size_t bytes = partial_bytes(asked, plan);
    const std::size_t hosts = asked.workers.count() / asked.workers.per_host();
    const std::size_t at_once = 2 * bytes * (hosts - 1) / hosts;
    return bytes * plan.most_partials() <= SmallExchange::kPayloadLimit &&
           bytes * plan.most_crossing() <= at_once + worth_of_messages(asked.workers);
}

/// Whether to send them with the headers, all at once. With more bytes, it pays to move chunk by chunk. In a group of
/// replicas all workers speak, so those of one host would send the same bytes to another host several times: it takes
/// the rails.
bool is_medium_all_reduce(const Collective &asked) {
    constexpr std::size_t kMost = 262144, kMostByHosts = 196608; // docs/performance/hosts.md, "Medium all-reduce"
    if (!is_all_reduce_by_links(asked)) return false;
    const JoinPlan &plan = asked.workers.at_once();
    if (asked.workers.per_host() > 1 && !plan.by_hosts()) return false;
    return partial_bytes(asked, plan) * plan.most_partials() <= (plan.by_hosts() ? kMostByHosts : kMost);
}

void all_reduce_with_headers(const Collective &asked, const JoinPlan &plan) {
    WorkerOperation::all_reduce_small(asked.workers, asked.call(), plan, asked.rows, asked.timeout_ns);
}

void along_rails(const Collective &asked) {
    WorkerOperation operation(asked.workers, asked.call(), asked.timeout_ns);
    for (const ReduceRow &row : asked.rows)
        if (row.elements() != 0)
            operation.run<Rails>(operation.tag(), row, asked.workers.per_host(), operation.scratch());
}

bool is_broadcast(const Collective &asked) {
    return asked.call().kind->traits().broadcasts;
}

std::size_t broadcast_bytes(const Call &call) {
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b) bytes += bytes_of(call.outputs[b]);
    return bytes;
}

/// By relays, more bytes pay: each worker sends them once at a time. In a group, nobody could say who is late.
bool is_small_broadcast(const Collective &asked) {
    constexpr std::size_t kMostByRelays = 262144;
    return is_broadcast(asked) &&
           broadcast_bytes(asked.call()) <= (asked.workers.relays() && asked.workers.layout() == nullptr
                                                 ? kMostByRelays
                                                 : SmallExchange::kPayloadLimit);
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
    WorkerOperation operation(asked.workers, call, asked.timeout_ns);
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
    return asked.call().kind->pattern() == Pattern::kMeet && asked.workers.relays();
}

void meet_by_relays(const Collective &asked) {
    WorkerOperation(asked.workers, asked.call(), SmallExchange::Bytes(), asked.timeout_ns, RelayedExchange::kNobody);
}

constexpr QuickWay kQuickWays[] = {
    {"all-reduce in shared memory",
     [](const Collective &asked) { return is_all_reduce(asked) && shares(asked.workers, asked.call()); },
     [](const Collective &asked) { WorkerOperation::all_reduce_shared(asked.workers, asked.calls, asked.timeout_ns); }},
    {"all-reduce with the headers, two by two", is_small_all_reduce,
     [](const Collective &asked) { all_reduce_with_headers(asked, asked.workers.two_by_two()); }},
    {"all-reduce with the headers, all at once", is_medium_all_reduce,
     [](const Collective &asked) { all_reduce_with_headers(asked, asked.workers.at_once()); }},
    {"all-reduce along rails",
     [](const Collective &asked) { return is_all_reduce_by_links(asked) && asked.workers.per_host() > 1; },
     along_rails},
    {"barrier by relays", is_barrier_by_relays, meet_by_relays},
    {"reduce-scatter by halving", may_halve, perform_halving},
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
