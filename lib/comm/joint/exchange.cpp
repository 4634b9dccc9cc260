// SPDX-License-Identifier: Apache-2.0
// What replicas of all workers give each other as it is.
#include "comm/joint/collectives.h"
#include "comm/joint/operation.h"
#include "comm/joint/parts.h"
#include "comm/joint/whole.h"
#include "comm/schedules/broadcast.h"
#include "comm/schedules/transfer.h"
#include "util/dtype.h"
#include "util/text.h"

#include <cstring>
#include <utility>

namespace mdist::joint {
namespace {

std::size_t bytes_of(const mdist_buffer_t &buffer) {
    return buffer.elements * dtype_size(buffer.dtype);
}

char *at(const mdist_buffer_t &buffer, uint64_t element) {
    return static_cast<char *>(buffer.data) + element * dtype_size(buffer.dtype);
}

void copy(void *to, const void *from, std::size_t bytes) {
    if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

/// Replica 0's outputs are there; everybody else's are copies.
void spread(const Call *const *calls, uint32_t replicas) {
    for (uint32_t local = 1; local < replicas; ++local)
        for (std::size_t b = 0; b < calls[0]->buffer_count; ++b)
            copy(calls[local]->outputs[b].data, calls[0]->outputs[b].data, bytes_of(calls[0]->outputs[b]));
}

} // namespace

void broadcast(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    const Call &call = *calls[0];
    const uint32_t per_worker = workers.replicas_per_worker();
    const uint32_t root = call.root / per_worker;
    const bool here = root == workers.self();
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b) bytes += bytes_of(call.outputs[b]);
    const bool small = bytes <= SmallExchange::kPayloadLimit;
    std::vector<char> payload;
    for (std::size_t b = 0; here && b < call.buffer_count; ++b) {
        const auto *from = static_cast<const char *>(calls[call.root % per_worker]->inputs[b].data);
        const std::size_t size = bytes_of(call.outputs[b]);
        if (small && size != 0) payload.insert(payload.end(), from, from + size);
    }

    JointOperation operation(workers, call, payload.data(), payload.size(), timeout_ns);
    if (small && operation.payload_bytes(root) != bytes)
        operation.fail(Failure(MDIST_ERR_INTERNAL, text(workers.name(root), " sent ", operation.payload_bytes(root),
                                                        " bytes, and ", bytes, " were due")));
    for (std::size_t b = 0; here && b < call.buffer_count; ++b)
        copy(call.outputs[b].data, calls[call.root % per_worker]->inputs[b].data, bytes_of(call.outputs[b]));
    const char *from = operation.payload(root);
    std::vector<Broadcast::Range> ranges;
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const std::size_t size = bytes_of(call.outputs[b]);
        ranges.push_back({call.outputs[b].data, size});
        if (small && !here) copy(call.outputs[b].data, from, size);
        from += small ? size : 0;
    }
    if (!small) {
        operation.run<Broadcast>(operation.tag(), root, ranges);
    }
    spread(calls, per_worker);
}

void all_gather(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    const Call &call = *calls[0];
    const uint32_t per_worker = workers.replicas_per_worker();
    Whole whole(workers, calls, timeout_ns);
    std::vector<Transfer::Outgoing> sends;
    std::vector<Transfer::Incoming> receives;
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        for (uint32_t replica = 0; replica < workers.replica_count(); ++replica) {
            const std::size_t bytes = whole.parts().length(replica, b) * dtype_size(call.inputs[b].dtype);
            char *place = at(call.outputs[b], whole.parts().offset(replica, b));
            const uint32_t worker = replica / per_worker;
            if (worker == workers.self()) {
                copy(place, calls[replica % per_worker]->inputs[b].data, bytes);
                for (uint32_t peer = 0; peer < workers.count(); ++peer)
                    if (peer != worker) sends.push_back({peer, place, bytes});
            } else {
                receives.push_back({worker, place, bytes});
            }
        }
    }
    whole.operation().run<Transfer>(whole.operation().tag(), sends, receives);
    spread(calls, per_worker);
}

void exchange_with_root(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    const uint32_t per_worker = workers.replicas_per_worker();
    const Call &root = *calls[calls[0]->root % per_worker]; // where this worker has it
    const uint32_t root_worker = root.root / per_worker;
    const bool to_root = pattern_of(root) == Pattern::kToRoot;
    Whole whole(workers, calls, timeout_ns);
    std::vector<Transfer::Outgoing> sends;
    std::vector<Transfer::Incoming> receives;
    for (std::size_t b = 0; b < root.buffer_count; ++b) {
        for (uint32_t replica = 0; replica < workers.replica_count(); ++replica) {
            const uint32_t worker = replica / per_worker;
            const bool has_part = worker == workers.self();
            const bool has_root = root_worker == workers.self();
            if (!has_part && !has_root) continue;
            const std::size_t bytes = whole.parts().length(replica, b) * dtype_size(root.inputs[b].dtype);
            const Call &own = *calls[replica % per_worker];
            void *const part = has_part ? (to_root ? own.inputs : own.outputs)[b].data : nullptr;
            void *const place =
                has_root ? at((to_root ? root.outputs : root.inputs)[b], whole.parts().offset(replica, b)) : nullptr;
            if (has_part && has_root)
                to_root ? copy(place, part, bytes) : copy(part, place, bytes);
            else if (has_part == to_root)
                sends.push_back({has_part ? root_worker : worker, has_part ? part : place, bytes});
            else
                receives.push_back({has_part ? root_worker : worker, has_part ? part : place, bytes});
        }
    }
    whole.operation().run<Transfer>(whole.operation().tag(), sends, receives);
}

void all_to_all(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    const Call &call = *calls[0];
    const uint32_t per_worker = workers.replicas_per_worker();
    const uint32_t replicas = workers.replica_count();
    JointOperation operation(workers, call, nullptr, 0, timeout_ns);
    std::vector<Transfer::Outgoing> sends;
    std::vector<Transfer::Incoming> receives;
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const uint64_t part = call.inputs[b].elements / replicas;
        const std::size_t bytes = part * dtype_size(call.inputs[b].dtype);
        // In one order on both sides: by source, then by destination.
        for (uint32_t i = 0; i < replicas * replicas; ++i) {
            const uint32_t source = i / replicas;
            const uint32_t destination = i % replicas;
            const bool gives = source / per_worker == workers.self();
            const bool takes = destination / per_worker == workers.self();
            char *from = gives ? at(calls[source % per_worker]->inputs[b], destination * part) : nullptr;
            char *to = takes ? at(calls[destination % per_worker]->outputs[b], source * part) : nullptr;
            if (gives && takes)
                copy(to, from, bytes);
            else if (gives)
                sends.push_back({destination / per_worker, from, bytes});
            else if (takes)
                receives.push_back({source / per_worker, to, bytes});
        }
    }
    operation.run<Transfer>(operation.tag(), sends, receives);
}

void meet(Workers &workers, const Call &call, uint64_t timeout_ns) {
    JointOperation(workers, call, nullptr, 0, timeout_ns);
}

} // namespace mdist::joint
