// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange.h"

#include "comm/across.h"
#include "comm/device/gpu_group.h"
#include "comm/parts.h"
#include "comm/perform.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "util/dtype.h"

#include <cstring>

namespace mdist {
namespace {

std::size_t bytes_of(const mdist_buffer_t &buffer) {
    return buffer.elements * dtype_size(buffer.dtype);
}

void copy(void *to, const void *from, std::size_t bytes) {
    if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

void broadcast_from(const Call &root, const Call &to) {
    for (std::size_t b = 0; b < to.buffer_count; ++b)
        copy(to.outputs[b].data, root.inputs[b].data, bytes_of(to.outputs[b]));
}

} // namespace

Exchange::Exchange(Group &group, uint32_t party, const Call &call)
    : group_(group), party_(party), kind_(call.kind), sources_(group.parties()) {}

uint64_t Exchange::run() {
    const uint32_t parties = group_.parties();
    uint64_t done = 0;
    for (uint32_t i = 0; i < parties; ++i) {
        const uint32_t receiver = (party_ + i) % parties; // its own first: that is where it will be read
        if (!group_.claim(receiver)) continue;
        deliver(receiver);
        ++done;
    }
    return done;
}

void Exchange::deliver(uint32_t receiver) {
    const Call &to = group_.call_of(receiver);
    switch (kind_) {
        case CallKind::kAllGather:
        case CallKind::kAllReduceRows:
        case CallKind::kAssignRows:
            return gather(to);
        case CallKind::kReduceScatter:
            return reduce(receiver, to);
        case CallKind::kAllToAll:
            return transpose(receiver, to);
        case CallKind::kGatherToRoot:
            return receiver == to.root ? gather(to) : void();
        case CallKind::kScatter:
            return scatter(receiver, to);
        default:
            return broadcast_from(group_.call_of(to.root), to);
    }
}

void Exchange::gather(const Call &to) {
    for (std::size_t b = 0; b < to.buffer_count; ++b) {
        char *place = static_cast<char *>(to.outputs[b].data);
        for (uint32_t other = 0; other < group_.parties(); ++other) {
            const mdist_buffer_t &part = group_.call_of(other).inputs[b];
            copy(place, part.data, bytes_of(part));
            place += bytes_of(part);
        }
    }
}

void Exchange::reduce(uint32_t receiver, const Call &to) {
    const reduce::FloatEnvironment environment;
    const uint32_t parties = group_.parties();
    for (std::size_t b = 0; b < to.buffer_count; ++b) {
        const std::size_t offset = part_offset(group_, receiver, b) * dtype_size(to.inputs[b].dtype);
        for (uint32_t other = 0; other < parties; ++other)
            sources_[other] = static_cast<const char *>(group_.call_of(other).inputs[b].data) + offset;
        reduce::reduce({to.inputs[b].dtype, static_cast<reduce::Op>(to.op), parties}, sources_.get(), parties,
                       &to.outputs[b].data, 1, to.outputs[b].elements);
    }
}

void Exchange::scatter(uint32_t receiver, const Call &to) {
    const Call &root = group_.call_of(to.root);
    for (std::size_t b = 0; b < to.buffer_count; ++b) {
        const std::size_t offset = part_offset(group_, receiver, b) * dtype_size(to.outputs[b].dtype);
        copy(to.outputs[b].data, static_cast<const char *>(root.inputs[b].data) + offset, bytes_of(to.outputs[b]));
    }
}

void Exchange::transpose(uint32_t receiver, const Call &to) {
    for (std::size_t b = 0; b < to.buffer_count; ++b) {
        const std::size_t part = bytes_of(to.inputs[b]) / group_.parties();
        char *place = static_cast<char *>(to.outputs[b].data);
        for (uint32_t other = 0; other < group_.parties(); ++other)
            copy(place + other * part,
                 static_cast<const char *>(group_.call_of(other).inputs[b].data) + receiver * part, part);
    }
}

void exchange(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    if (group.gpus() != nullptr && group.gpus()->holds(party, call))
        return perform_on_gpus(group, party, call, timeout_ns);
    if (group.workers() != nullptr) return perform_across(group, party, call, timeout_ns);
    Exchange part(group, party, call);
    perform(group, party, call, timeout_ns, part);
}

void barrier(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    if (group.workers() != nullptr) return perform_across(group, party, call, timeout_ns);
    group.meet(party, call, timeout_ns);
}

} // namespace mdist
