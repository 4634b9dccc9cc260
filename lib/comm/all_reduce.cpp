// SPDX-License-Identifier: Apache-2.0
#include "comm/collectives.h"

#include "comm/parts.h"
#include "comm/pointers.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "util/dtype.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

constexpr std::size_t kLine = 64;

std::size_t bytes_of(const mdist_buffer_t &buffer) {
    return buffer.elements * dtype_size(buffer.dtype);
}

std::size_t padded(std::size_t bytes) {
    return (bytes + kLine - 1) / kLine * kLine;
}

struct Size {
    std::size_t bytes = 0;
    std::size_t padded_bytes = 0;
};

Size size_of(const Call &call) {
    Size size;
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        size.bytes += bytes_of(call.inputs[b]);
        size.padded_bytes += padded(bytes_of(call.inputs[b]));
    }
    return size;
}

reduce::Operation operation(const Call &call, std::size_t buffer, uint32_t parties) {
    return {call.inputs[buffer].dtype, static_cast<reduce::Op>(call.op), parties};
}

/// Small: everybody's inputs are copied to where they stay readable after the call, so that one meeting is enough, and
/// everybody computes the whole result. Cheaper than a second meeting as long as the inputs of all fit a first-level
/// cache.
void all_reduce_staged(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    const uint32_t parties = group.parties();
    const uint64_t round = group.next_round(party);
    Pointers<const void *> sources(parties);
    char *to = group.stage(party, round);
    for (std::size_t b = 0; b < call.buffer_count; to += padded(bytes_of(call.inputs[b])), ++b)
        if (call.inputs[b].elements != 0) std::memcpy(to, call.inputs[b].data, bytes_of(call.inputs[b]));

    group.meet(party, call, timeout_ns);

    std::size_t offset = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        for (uint32_t other = 0; other < parties; ++other) sources[other] = group.stage(other, round) + offset;
        reduce::reduce(operation(call, b, parties), sources.get(), parties, &call.outputs[b].data, 1,
                       call.inputs[b].elements);
        offset += padded(bytes_of(call.inputs[b]));
    }
}

/// Large: all buffers are cut into chunks, and each party takes the next free chunk, sums it over all inputs and writes
/// it to all outputs. Taking chunks instead of fixed shares keeps the others busy when one party's core is taken away.
/// Whoever computes a chunk computes the same bits.
void all_reduce_chunks(Group &group, uint32_t party, const Call &call, std::size_t chunk_bytes) {
    const uint32_t parties = group.parties();
    Pointers<const void *> sources(parties);
    Pointers<void *> destinations(parties);
    uint64_t claim = party;
    uint64_t first = 0; // claim of buffer b's first chunk
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const std::size_t element_bytes = dtype_size(call.inputs[b].dtype);
        const uint64_t elements = call.inputs[b].elements;
        const uint64_t chunk = std::max<std::size_t>(chunk_bytes / element_bytes, 1);
        const uint64_t chunks = (elements + chunk - 1) / chunk;
        for (; claim < first + chunks; claim = parties + group.work().fetch_add(1, std::memory_order_relaxed)) {
            const uint64_t begin = (claim - first) * chunk;
            for (uint32_t other = 0; other < parties; ++other) {
                const Call &theirs = group.call_of(other);
                sources[other] = static_cast<const char *>(theirs.inputs[b].data) + begin * element_bytes;
                destinations[other] = static_cast<char *>(theirs.outputs[b].data) + begin * element_bytes;
            }
            reduce::reduce(operation(call, b, parties), sources.get(), parties, destinations.get(), parties,
                           std::min(chunk, elements - begin));
        }
        first += chunks;
    }
}

} // namespace

void all_reduce(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    constexpr std::size_t kStagedTotal = 32768; // inputs of all parties
    const reduce::FloatEnvironment environment;
    const Size size = size_of(call);
    const uint32_t parties = group.parties();
    if (size.padded_bytes <= Group::kStageBytes && size.padded_bytes * parties <= kStagedTotal)
        return all_reduce_staged(group, party, call, timeout_ns);
    group.meet(party, call, timeout_ns);
    all_reduce_posted(group, party);
}

void all_reduce_posted(Group &group, uint32_t party) {
    constexpr std::size_t kSmallestChunk = 16384;
    constexpr std::size_t kLargestChunk = 262144;
    const Finish finish(group);
    const reduce::FloatEnvironment environment;
    const Call &call = group.call_of(party);
    const std::size_t share = size_of(call).bytes / group.parties();
    all_reduce_chunks(group, party, call, padded(std::clamp(share, kSmallestChunk, kLargestChunk)));
}

void reduce_scatter(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    const uint32_t parties = group.parties();
    const reduce::FloatEnvironment environment;
    Pointers<const void *> sources(parties);
    group.meet(party, call, timeout_ns);
    const Finish finish(group);
    check_parts(group);
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const std::size_t offset = part_offset(group, party, b) * dtype_size(call.inputs[b].dtype);
        for (uint32_t other = 0; other < parties; ++other)
            sources[other] = static_cast<const char *>(group.call_of(other).inputs[b].data) + offset;
        reduce::reduce(operation(call, b, parties), sources.get(), parties, &call.outputs[b].data, 1,
                       call.outputs[b].elements);
    }
}

} // namespace mdist
