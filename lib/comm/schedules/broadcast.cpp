// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/broadcast.h"

#include <algorithm>
#include <utility>

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

Broadcast::Broadcast(Link &link, uint64_t tag, uint32_t root, uint32_t per_host, const std::vector<Range> &ranges,
                     std::size_t chunk_bytes)
    : link_(link), tag_(tag), root_(root), per_host_(per_host) {
    if (link.parties() == 1) return;
    if (chunk_bytes == 0) chunk_bytes = best_chunk_bytes(ranges, link.parties() - 1);
    uint64_t chunk = 0;
    for (const Range &range : ranges)
        for (std::size_t at = 0; at < range.bytes; at += chunk_bytes)
            post({static_cast<char *>(range.data) + at, std::min(chunk_bytes, range.bytes - at)}, chunk++);
    pass_on();
}

Broadcast::Part Broadcast::part(uint64_t chunk) const {
    const uint32_t self = link_.self(), hosts = link_.parties() / per_host_;
    const uint32_t host = self / per_host_, first = root_ / per_host_;
    // The root's own place is the first one: a single chunk needs no step in between.
    const auto place = static_cast<uint32_t>((root_ + chunk) % per_host_);
    const auto carrier = [&](uint32_t of) { return of * per_host_ + place; };
    const uint32_t second = hosts == 1 ? first : static_cast<uint32_t>((first + 1 + chunk % (hosts - 1)) % hosts);
    if (self != carrier(host)) return self == root_ ? Part{kNobody, {}, {carrier(host)}} : Part{carrier(host), {}, {}};
    Part part;
    if (self != root_) part.from = host == first ? root_ : carrier(host == second ? first : second);
    if (host == first && hosts > 1) part.far.push_back(carrier(second));
    for (uint32_t i = 1; host == second && i < hosts; ++i)
        if (const uint32_t other = (host + i) % hosts; other != first) part.far.push_back(carrier(other));
    for (uint32_t i = 1; i < per_host_; ++i)
        if (const uint32_t mate = host * per_host_ + (place + i) % per_host_; mate != root_) part.near.push_back(mate);
    return part;
}

void Broadcast::post(const Range &range, uint64_t chunk) {
    Part part = this->part(chunk);
    const uint64_t tag = tag_ + chunk;
    if (part.from != kNobody && part.near.empty() && part.far.empty())
        return link_.receive(part.from, tag, range.data, range.bytes, pending_);
    Relayed &relayed = relayed_.emplace_back(Relayed{range, tag, std::move(part), {}});
    if (relayed.part.from != kNobody) link_.receive(relayed.part.from, tag, range.data, range.bytes, relayed.arrival);
}

bool Broadcast::advance() {
    do link_.progress();
    while (pass_on());
    return passed_near_ == relayed_.size() && passed_far_ == relayed_.size() && pending_.done();
}

/// Gives on what is here, to each peer in the order of the chunks. Returns whether there was any.
bool Broadcast::pass_on() {
    const std::size_t before = passed_near_ + passed_far_;
    for (; passed_far_ < relayed_.size(); ++passed_far_) {
        const Relayed &chunk = relayed_[passed_far_];
        if (!chunk.part.far.empty() && !chunk.arrival.done()) break;
        give(chunk, chunk.part.far);
    }
    for (; passed_near_ < relayed_.size() && relayed_[passed_near_].arrival.done(); ++passed_near_)
        give(relayed_[passed_near_], relayed_[passed_near_].part.near);
    return passed_near_ + passed_far_ != before;
}

void Broadcast::give(const Relayed &chunk, const std::vector<uint32_t> &workers) {
    for (const uint32_t worker : workers) link_.send(worker, chunk.tag, chunk.range.data, chunk.range.bytes, pending_);
}

} // namespace mdist
