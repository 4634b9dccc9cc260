// SPDX-License-Identifier: Apache-2.0
#include "comm/parts.h"

#include "util/dtype.h"
#include "util/text.h"

namespace mdist {
namespace {

const mdist_buffer_t &part_of(const Call &call, std::size_t b) {
    return gathers(call.kind) ? call.inputs[b] : call.outputs[b];
}

const mdist_buffer_t &whole_of(const Call &call, std::size_t b) {
    return gathers(call.kind) ? call.outputs[b] : call.inputs[b];
}

} // namespace

void check_place(const Call &call, uint32_t party, std::size_t b, uint64_t offset) {
    const mdist_buffer_t &part = part_of(call, b);
    const mdist_buffer_t &whole = whole_of(call, b);
    if (part.elements == 0) return;
    const std::size_t size = dtype_size(part.dtype);
    const auto begin = reinterpret_cast<uintptr_t>(whole.data);
    const auto at = reinterpret_cast<uintptr_t>(part.data);
    const bool inside = at < begin + whole.elements * size && begin < at + part.elements * size;
    if (inside && at != begin + offset * size)
        throw Failure(MDIST_ERR_INVALID_ARGUMENT,
                      text("buffer ", b, " of replica ", party, " works in place ", (at - begin) / size,
                           " elements in; its part begins at ", offset))
            .operation(call_name(call.kind))
            .replica(static_cast<int32_t>(party));
}

uint64_t part_offset(const Group &group, uint32_t party, std::size_t b) {
    uint64_t offset = 0;
    for (uint32_t other = 0; other < party; ++other) offset += part_of(group.call_of(other), b).elements;
    return offset;
}

void check_parts(const Group &group) {
    const Call &first = group.call_of(0);
    for (std::size_t b = 0; b < first.buffer_count; ++b) {
        const uint64_t total = part_offset(group, group.parties(), b);
        for (uint32_t party = 0; party < group.parties(); ++party) {
            const Call &call = group.call_of(party);
            if (has_root(call.kind) && party != call.root) continue; // has no whole
            if (whole_of(call, b).elements != total)
                throw Failure(MDIST_ERR_MISMATCH,
                              text(gathers(call.kind) ? "output " : "input ", b, " of replica ", party, " has ",
                                   whole_of(call, b).elements, " elements; the ",
                                   gathers(call.kind) ? "inputs" : "outputs", " of all replicas together have ", total))
                    .operation(call_name(call.kind))
                    .replica(static_cast<int32_t>(party));
            check_place(call, party, b, part_offset(group, party, b));
        }
    }
}

} // namespace mdist
