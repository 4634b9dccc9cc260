// SPDX-License-Identifier: Apache-2.0
#include "comm/local/reduce.h"

#include "comm/call/buffers.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "util/cache_line.h"
#include "util/dtype.h"
#include "util/round_up.h"

#include <algorithm>
#include <cstring>

namespace mdist {
namespace {

std::size_t padded(std::size_t bytes) {
    return round_up(bytes, kCacheLine);
}

std::size_t padded_bytes(const Call &call) {
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < call.buffer_count; ++b) bytes += padded(bytes_of(call.inputs[b]));
    return bytes;
}

} // namespace

bool StagedReduce::fits(const Group &group, const Call &call) {
    // Where all parties run at once, a second meeting costs about as much as moving some cache lines between cores.
    // Where parties take turns on a core, a meeting is expensive, and the inputs of all are in that core's own cache.
    constexpr std::size_t kSpinning = 512;
    constexpr std::size_t kYieldingTotal = 32768; // inputs of all parties
    const std::size_t bytes = padded_bytes(call);
    if (group.spins()) return bytes <= kSpinning;
    return bytes <= Group::kStageBytes && bytes * group.parties() <= kYieldingTotal;
}

StagedReduce::StagedReduce(Group &group, uint32_t party, const Call &call)
    : group_(group), call_(call), sources_(group.parties()) {
    // A party that gave up waiting in this round must not come back and overwrite what the round before still reads.
    group.require_ready();
    round_ = group.next_round(party);
    char *to = group.stage(party, round_);
    for (std::size_t b = 0; b < call.buffer_count; to += padded(bytes_of(call.inputs[b])), ++b)
        if (call.inputs[b].elements != 0) std::memcpy(to, call.inputs[b].data, bytes_of(call.inputs[b]));
}

uint64_t StagedReduce::run() {
    const reduce::FloatEnvironment environment;
    const uint32_t parties = group_.parties();
    std::size_t offset = 0;
    for (std::size_t b = 0; b < call_.buffer_count; ++b) {
        for (uint32_t other = 0; other < parties; ++other) sources_[other] = group_.stage(other, round_) + offset;
        reduce::reduce(operation_of(call_, call_.inputs[b].dtype, parties), sources_.get(), parties,
                       &call_.outputs[b].data, 1,
                       call_.outputs[b].elements); // none but at the root, if there is one
        offset += padded(bytes_of(call_.inputs[b]));
    }
    return 0;
}

ChunkedReduce::ChunkedReduce(Group &group, uint32_t party, const Call &call)
    : group_(group),
      call_(call),
      party_(party),
      sources_(group.parties()),
      destinations_(group.parties()),
      bytes_(padded_bytes(call)) {
    constexpr std::size_t kLargestChunk = 262144;
    const std::size_t smallest = group.spins() ? 1024 : 16384;
    chunk_bytes_ = padded(std::clamp(bytes_ / group.parties(), smallest, kLargestChunk));
    total_ = (bytes_ + chunk_bytes_ - 1) / chunk_bytes_;
}

uint64_t ChunkedReduce::run() {
    const reduce::FloatEnvironment environment;
    // Where all parties run at once, each begins with a chunk of its own. It is the same one in every call, so what the
    // party wrote there last time may still be in its cache. Where parties take turns on fewer cores, or a party may
    // stay away, each running party takes the next chunk. Parties that run late then find nothing left, and nobody
    // waits for them.
    const bool together = group_.reducer() == Group::kEveryParty || group_.started();
    if (!together && group_.reducer() != party_) return 0;
    reserved_ = together && group_.spins() && !group_.started() ? group_.parties() : 0;
    uint64_t done = 0;
    for (uint64_t claim = reserved_ != 0 ? party_ : next(); claim < total_; claim = next(), ++done)
        group_.do_work([&] { reduce_chunk(claim); });
    return done;
}

uint64_t ChunkedReduce::next() {
    return reserved_ >= total_ ? total_ : reserved_ + group_.work().fetch_add(1, std::memory_order_relaxed);
}

void ChunkedReduce::reduce_chunk(uint64_t index) {
    std::size_t at = index * chunk_bytes_;
    const std::size_t end = std::min(at + chunk_bytes_, bytes_);
    while (at < end) {
        const std::size_t bytes = bytes_of(call_.inputs[buffer_]);
        const std::size_t buffer_end = buffer_begin_ + padded(bytes);
        if (at < buffer_end) {
            const std::size_t stop = std::min(end, buffer_end);
            reduce_stretch(buffer_, at - buffer_begin_, std::min(stop - buffer_begin_, bytes));
            if (stop < buffer_end) return; // the rest is of later chunks
            at = stop;
        }
        buffer_begin_ = buffer_end;
        ++buffer_;
    }
}

/// Bytes begin to end - 1 of a buffer.
void ChunkedReduce::reduce_stretch(std::size_t b, std::size_t begin, std::size_t end) {
    const std::size_t size = dtype_size(call_.inputs[b].dtype);
    if (call_.by != nullptr) { // chunks need not end where elements do: an element belongs to the chunk it begins in
        begin = round_up(begin, size);
        end = round_up(end, size);
        if (begin >= end) return;
    }
    const uint32_t parties = group_.parties();
    const bool one = call_.buffer_count == 1;
    const bool rooted = call_.kind->traits().has_root;
    for (uint32_t other = 0; other < parties; ++other) {
        const void *in = one ? group_.input_of(other) : group_.call_of(other).inputs[b].data;
        void *out = one ? group_.output_of(other) : group_.call_of(other).outputs[b].data;
        sources_[other] = static_cast<const char *>(in) + begin;
        if (!rooted || other == call_.root) destinations_[rooted ? 0 : other] = static_cast<char *>(out) + begin;
    }
    reduce::reduce(operation_of(call_, call_.inputs[b].dtype, parties), sources_.get(), parties, destinations_.get(),
                   rooted ? 1 : parties, (end - begin) / size);
}

} // namespace mdist
