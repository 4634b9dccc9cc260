// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/broadcast.h"

#include "comm/call/bad_message.h"
#include "comm/call/buffers.h"
#include "comm/schedules/broadcast.h"
#include "comm/workers/operation.h"
#include "comm/workers/sizes.h"
#include "util/text.h"

#include <cstring>

namespace mdist::workers {
namespace {

std::size_t broadcast_bytes(const Call &call) {
    return bytes_of(call.outputs, call.buffer_count);
}

/// Copies the data to all local replicas. `from` holds the bytes of all buffers, one after another.
void deliver(const Collective &asked, const char *from) {
    const Call &first = asked.call();
    for (std::size_t b = 0; b < first.buffer_count; from += bytes_of(first.outputs[b]), ++b)
        if (first.outputs[b].elements != 0) std::memcpy(first.outputs[b].data, from, bytes_of(first.outputs[b]));
    spread(asked);
}

} // namespace

bool is_small_broadcast(const Collective &asked) {
    return broadcast_bytes(asked.call()) <=
           sizes::broadcast_along(asked.workers.count(), asked.workers.per_host(), asked.workers.meets_directly());
}

void broadcast_with_headers(const Collective &asked) {
    const Call &call = asked.call();
    const uint32_t root = asked.worker_of(call.root);
    const std::size_t bytes = broadcast_bytes(call);
    std::vector<char> payload;
    for (std::size_t b = 0; root == asked.workers.self() && b < call.buffer_count; ++b) {
        const char *const from = at(asked.call_of(call.root).inputs[b], 0);
        if (call.outputs[b].elements != 0) payload.insert(payload.end(), from, from + bytes_of(call.outputs[b]));
    }
    WorkerOperation operation(asked.workers, call, asked.timeout_ns);
    operation.agree({payload.data(), payload.size()}, root);
    const Link::Message come = operation.payload(root);
    operation.checked([&] {
        if (come.bytes != bytes)
            throw bad_message(asked.workers.rank(root), text(come.bytes, " bytes to all workers instead of ", bytes));
    });
    deliver(asked, static_cast<const char *>(come.data));
}

void broadcast_in_chunks(const Collective &asked) {
    const Call &call = asked.call();
    const uint32_t root = asked.worker_of(call.root);
    WorkerOperation operation(asked.workers, call, asked.timeout_ns);
    operation.agree();
    std::vector<Broadcast::Range> ranges;
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const mdist_buffer_t &output = call.outputs[b];
        ranges.push_back({output.data, bytes_of(output)});
        if (root != asked.workers.self() || output.elements == 0) continue;
        const void *const from = asked.call_of(call.root).inputs[b].data;
        if (from != output.data) std::memcpy(output.data, from, bytes_of(output));
    }
    operation.run<Broadcast>(operation.tag(), root, asked.workers.per_host(), ranges);
    spread(asked);
}

} // namespace mdist::workers
