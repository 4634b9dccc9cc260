// SPDX-License-Identifier: Apache-2.0
// Collectives that move elements without computing.
#include "comm/collectives.h"
#include "comm/parts.h"
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

} // namespace

void broadcast(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    group.meet(party, call, timeout_ns);
    const Finish finish(group);
    const Call &root = group.call_of(call.root);
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        copy(call.outputs[b].data, root.inputs[b].data, bytes_of(call.inputs[b]));
}

void all_gather(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    group.meet(party, call, timeout_ns);
    const Finish finish(group);
    check_parts(group);
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        char *to = static_cast<char *>(call.outputs[b].data);
        for (uint32_t other = 0; other < group.parties(); ++other) {
            const mdist_buffer_t &part = group.call_of(other).inputs[b];
            copy(to, part.data, bytes_of(part));
            to += bytes_of(part);
        }
    }
}

void all_to_all(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    group.meet(party, call, timeout_ns);
    const Finish finish(group);
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const std::size_t part = bytes_of(call.inputs[b]) / group.parties();
        char *to = static_cast<char *>(call.outputs[b].data);
        for (uint32_t other = 0; other < group.parties(); ++other)
            copy(to + other * part, static_cast<const char *>(group.call_of(other).inputs[b].data) + party * part,
                 part);
    }
}

void barrier(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    group.meet(party, call, timeout_ns);
}

} // namespace mdist
