// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/broadcast.h"

#include <algorithm>

namespace mdist {
namespace {

/// Each of the others passes on at least one chunk, unless they would be very small.
std::size_t best_chunk_bytes(const std::vector<Broadcast::Range> &ranges, uint32_t others) {
    constexpr std::size_t kSmallest = 4096, kLargest = 262144;
    std::size_t bytes = 0;
    for (const Broadcast::Range &range : ranges) bytes += range.bytes;
    return std::clamp(bytes / others + 1, kSmallest, kLargest);
}

} // namespace

Broadcast::Broadcast(Link &link, uint64_t tag, uint32_t root, const std::vector<Range> &ranges, std::size_t chunk_bytes)
    : link_(link), tag_(tag), root_(root) {
    if (link.parties() == 1) return;
    if (chunk_bytes == 0) chunk_bytes = best_chunk_bytes(ranges, link.parties() - 1);
    uint64_t chunks = 0;
    for (const Range &range : ranges) chunks += (range.bytes + chunk_bytes - 1) / chunk_bytes;
    relayed_.reserve(chunks / (link.parties() - 1) + 1); // must not grow: the link points at their Pending
    uint64_t chunk = 0;
    for (const Range &range : ranges)
        for (std::size_t at = 0; at < range.bytes; at += chunk_bytes)
            post({static_cast<char *>(range.data) + at, std::min(chunk_bytes, range.bytes - at)}, chunk++);
}

uint32_t Broadcast::relay(uint64_t chunk) const {
    const uint32_t parties = link_.parties();
    return static_cast<uint32_t>((root_ + 1 + chunk % (parties - 1)) % parties);
}

void Broadcast::post(const Range &range, uint64_t chunk) {
    const uint32_t by = relay(chunk);
    if (link_.self() == root_) {
        link_.send(by, tag_ + chunk, range.data, range.bytes, pending_);
    } else if (link_.self() == by) {
        Relayed &own = relayed_.emplace_back(Relayed{range, tag_ + chunk, {}});
        link_.receive(root_, own.tag, range.data, range.bytes, own.arrival);
    } else {
        link_.receive(by, tag_ + chunk, range.data, range.bytes, pending_);
    }
}

bool Broadcast::advance() {
    do link_.progress();
    while (pass_on());
    return passed_on_ == relayed_.size() && pending_.done();
}

/// Passes on the chunks that have arrived. Returns whether there were any.
bool Broadcast::pass_on() {
    const std::size_t before = passed_on_;
    for (; passed_on_ < relayed_.size() && relayed_[passed_on_].arrival.done(); ++passed_on_) {
        const Relayed &chunk = relayed_[passed_on_];
        for (uint32_t worker = 0; worker < link_.parties(); ++worker)
            if (worker != root_ && worker != link_.self())
                link_.send(worker, chunk.tag, chunk.range.data, chunk.range.bytes, pending_);
    }
    return passed_on_ != before;
}

} // namespace mdist
