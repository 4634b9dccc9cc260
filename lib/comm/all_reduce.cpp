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
    // A party that gave up waiting in this round must not come again and write over what the round before still reads.
    group.require_ready();
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
class Chunks {
  public:
    /// Allocates, so before the meeting: behind it nothing may throw.
    Chunks(Group &group, uint32_t party, const Call &call)
        : group_(group), call_(call), parties_(group.parties()), sources_(parties_), destinations_(parties_) {
        // Where all parties run at once, each begins with a chunk of its own, the same in every call: what it wrote
        // there last time may still be in its cache. Where they take turns on fewer cores, whoever runs takes what
        // comes, so that those that run late find nothing left and have nobody waiting for them.
        constexpr std::size_t kLargestChunk = 262144;
        const std::size_t smallest = group.spins() ? 1024 : 16384;
        const std::size_t share = size_of(call).bytes / parties_;
        chunk_bytes_ = padded(std::clamp(share, smallest, kLargestChunk));
        for (std::size_t b = 0; b < call.buffer_count; ++b) total_ += chunks_of(b);
        reserved_ = group.spins() ? parties_ : 0;
        own_ = party;
    }

    uint64_t total() const { return total_; }

    /// Takes chunks until none is left; returns how many it was.
    uint64_t run() {
        uint64_t done = 0;
        uint64_t first = 0; // claim of buffer b's first chunk
        uint64_t claim = reserved_ != 0 ? own_ : next();
        for (std::size_t b = 0; b < call_.buffer_count; ++b) {
            const uint64_t chunks = chunks_of(b);
            for (; claim < first + chunks; claim = next(), ++done) reduce_chunk(b, claim - first);
            first += chunks;
        }
        return done;
    }

  private:
    uint64_t chunk_elements(std::size_t b) const {
        return std::max<std::size_t>(chunk_bytes_ / dtype_size(call_.inputs[b].dtype), 1);
    }
    uint64_t chunks_of(std::size_t b) const {
        return (call_.inputs[b].elements + chunk_elements(b) - 1) / chunk_elements(b);
    }
    uint64_t next() {
        return reserved_ >= total_ ? total_ : reserved_ + group_.work().fetch_add(1, std::memory_order_relaxed);
    }
    void reduce_chunk(std::size_t b, uint64_t index) {
        const uint64_t begin = index * chunk_elements(b);
        const std::size_t offset = begin * dtype_size(call_.inputs[b].dtype);
        for (uint32_t other = 0; other < parties_; ++other) {
            const bool one = call_.buffer_count == 1;
            const void *in = one ? group_.input_of(other) : group_.call_of(other).inputs[b].data;
            void *out = one ? group_.output_of(other) : group_.call_of(other).outputs[b].data;
            sources_[other] = static_cast<const char *>(in) + offset;
            destinations_[other] = static_cast<char *>(out) + offset;
        }
        reduce::reduce(operation(call_, b, parties_), sources_.get(), parties_, destinations_.get(), parties_,
                       std::min(chunk_elements(b), call_.inputs[b].elements - begin));
    }

    Group &group_;
    const Call &call_;
    const uint32_t parties_;
    Pointers<const void *> sources_;
    Pointers<void *> destinations_;
    std::size_t chunk_bytes_ = 0;
    uint64_t total_ = 0;
    uint64_t reserved_ = 0;
    uint64_t own_ = 0;
};

bool staged(const Group &group, const Size &size) {
    // Where all parties run at once, a second meeting costs about as much as some lines going from core to core; where
    // they take turns, meeting is dear and the inputs of all are in the core's own cache.
    constexpr std::size_t kSpinning = 512;
    constexpr std::size_t kYieldingTotal = 32768; // inputs of all parties
    if (group.spins()) return size.padded_bytes <= kSpinning;
    return size.padded_bytes <= Group::kStageBytes && size.padded_bytes * group.parties() <= kYieldingTotal;
}

} // namespace

void all_reduce(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    const reduce::FloatEnvironment environment;
    if (staged(group, size_of(call))) return all_reduce_staged(group, party, call, timeout_ns);
    Chunks chunks(group, party, call);
    const uint32_t before = group.finishes();
    group.meet(party, call, timeout_ns);
    const uint64_t done = chunks.run();
    group.finish_work(before, done, chunks.total());
}

void all_reduce_posted(Group &group, uint32_t party) {
    const reduce::FloatEnvironment environment;
    Chunks chunks(group, party, group.call_of(party));
    chunks.run();
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
