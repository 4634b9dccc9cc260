// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/all_reduce.h"

#include "reduce/float_environment.h"
#include "util/dtype.h"

#include <algorithm>
#include <utility>

namespace mdist {

AllReduce::AllReduce(Link &link, uint64_t tag, const ReduceRow &row, Scratch &scratch, Start start,
                     uint64_t chunk_elements)
    : link_(link),
      tag_(tag),
      row_(row),
      element_size_(dtype_size(row.dtype())),
      chunk_elements_(chunk_elements),
      partials_(row.cut().subtrees().size()) {
    cut_into_segments();
    const uint64_t longest = longest_segment();
    if (chunk_elements_ == 0) chunk_elements_ = best_chunk_elements(element_size_, longest, link_.parties() - 1);
    chunk_elements_ = std::min(chunk_elements_, std::max<uint64_t>(longest, 1));
    lay_out(scratch);
    start == Start::kNow ? begin() : static_cast<void>(step());
}

void AllReduce::begin() {
    begun_ = true;
    step();
}

void AllReduce::cut_into_segments() {
    const uint32_t workers = link_.parties();
    const uint64_t even = aligned_elements((row_.elements() + workers - 1) / workers, element_size_);
    segments_.assign(workers + 1, row_.elements());
    for (uint32_t worker = 0; worker < workers; ++worker)
        segments_[worker] = row_.scatters() ? row_.part_begin(worker) : std::min(worker * even, row_.elements());
}

uint64_t AllReduce::longest_segment() const {
    uint64_t longest = 0;
    for (std::size_t i = 1; i < segments_.size(); ++i) longest = std::max(longest, segments_[i] - segments_[i - 1]);
    return longest;
}

void AllReduce::lay_out(Scratch &scratch) {
    const uint32_t self = link_.self();
    slot_bytes_ = chunk_elements_ * std::max<std::size_t>(row_.cut().most() * row_.partial_size(), element_size_);
    char *memory = scratch.take(slot_bytes_ * (2 + 2 * kWindow * (link_.parties() - 1)));
    const auto take = [&](std::size_t slots) { return std::exchange(memory, memory + slots * slot_bytes_); };
    own_ = take(1);
    result_ = take(1);
    peers_.reserve(link_.parties() - 1);
    // Each worker begins with its neighbour, so that not all send to worker 0 first.
    for (uint32_t i = 1; i < link_.parties(); ++i) {
        Peer &peer = peers_.emplace_back();
        peer.rank = (self + i) % link_.parties();
        peer.out.partials = chunks(peer.rank);
        peer.in.partials = chunks(self);
        peer.out.results = row_.scatters() ? 0 : peer.in.partials;
        peer.in.results = row_.scatters() ? 0 : peer.out.partials;
        peer.out.scratch = take(kWindow);
        peer.in.scratch = take(kWindow);
    }
}

uint64_t AllReduce::chunks(uint32_t worker) const {
    return (segments_[worker + 1] - segments_[worker] + chunk_elements_ - 1) / chunk_elements_;
}

Range AllReduce::chunk(uint32_t worker, uint64_t index) const {
    const uint64_t begin = segments_[worker] + index * chunk_elements_;
    return {begin, std::min(chunk_elements_, segments_[worker + 1] - begin)};
}

bool AllReduce::advance() {
    // Go on until only the link can bring it further.
    do link_.progress();
    while (step());
    return combined_ == chunks(link_.self()) && std::all_of(peers_.begin(), peers_.end(), [](const Peer &peer) {
               return peer.in.all_taken() && peer.out.all_sent();
           });
}

/// Does what can be done now. Returns whether it posted something.
bool AllReduce::step() {
    const reduce::FloatEnvironment environment;
    while (combine_next()) {
    }
    bool posted = false;
    for (Peer &peer : peers_) {
        while (take_results(peer)) {
        }
        while (post_receives(peer)) posted = true;
    }
    // Send chunk by chunk over all peers, so that no peer waits until the others have a whole window.
    for (bool more = true; more; posted |= more) {
        more = false;
        for (Peer &peer : peers_) more |= post_sends(peer);
    }
    return posted;
}

bool AllReduce::combine_next() {
    if (combined_ == chunks(link_.self())) return false;
    for (const Peer &peer : peers_)
        if (!peer.in.arrived()) return false;
    combine(chunk(link_.self(), combined_), combined_);
    for (Peer &peer : peers_) ++peer.in.taken;
    ++combined_;
    return true;
}

void AllReduce::combine(const Range &range, uint64_t index) {
    const reduce::Cut &cut = row_.cut();
    const std::size_t bytes = range.count * row_.partial_size();
    const auto point = [&](uint32_t worker, const void *first) {
        for (uint32_t i = 0; i < cut.count(worker); ++i)
            partials_[cut.first(worker) + i] = static_cast<const char *>(first) + i * bytes;
    };
    for (const Peer &peer : peers_) point(peer.rank, peer.in.scratch + index % kWindow * slot_bytes_);
    point(link_.self(), row_.partials(range.begin, range.count, own_));
    void *const to = row_.room(range.begin, range.count, result_);
    reduce::combine_partials(row_.operation(), cut, partials_.data(), &to, 1, range.count);
    row_.take(range.begin, range.count, to);
}

bool AllReduce::take_results(Peer &peer) {
    PeerStream &in = peer.in;
    const uint64_t slot = in.taken % kWindow;
    if (in.taken < in.partials || !in.arrived()) return false;
    const Range range = chunk(peer.rank, in.taken - in.partials);
    row_.take(range.begin, range.count, row_.room(range.begin, range.count, in.scratch + slot * slot_bytes_));
    ++in.taken;
    return true;
}

bool AllReduce::post_receives(Peer &peer) {
    PeerStream &in = peer.in;
    if (!begun_ || in.posted == in.total() || in.posted - in.taken == kWindow) return false;
    const uint64_t slot = in.posted % kWindow;
    void *to = in.scratch + slot * slot_bytes_;
    std::size_t bytes = 0;
    if (in.posted < in.partials) {
        bytes = chunk(link_.self(), in.posted).count * row_.partial_size() * row_.cut().count(peer.rank);
    } else {
        const Range range = chunk(peer.rank, in.posted - in.partials);
        to = row_.room(range.begin, range.count, to);
        bytes = range.count * element_size_;
    }
    link_.receive(peer.rank, tag_ + in.posted, to, bytes, in.pending[slot]);
    ++in.posted;
    return true;
}

bool AllReduce::post_sends(Peer &peer) {
    PeerStream &out = peer.out;
    const uint64_t slot = out.posted % kWindow;
    if (out.posted == out.total() || !out.pending[slot].done()) return false;
    char *const scratch = out.scratch + slot * slot_bytes_;
    if (out.posted < out.partials) {
        post_partials(peer, out.posted, scratch, out.pending[slot]);
    } else {
        if (out.posted - out.partials == combined_) return false;
        post_results(peer, out.posted - out.partials, scratch, out.pending[slot]);
    }
    ++out.posted;
    return true;
}

void AllReduce::post_partials(Peer &peer, uint64_t index, char *scratch, Pending &pending) {
    const Range range = chunk(peer.rank, index);
    link_.send(peer.rank, tag_ + peer.out.posted, row_.partials(range.begin, range.count, scratch),
               range.count * row_.partial_size() * row_.partial_count(), pending);
}

void AllReduce::post_results(Peer &peer, uint64_t index, char *scratch, Pending &pending) {
    const Range range = chunk(link_.self(), index);
    link_.send(peer.rank, tag_ + peer.out.posted, row_.results(range.begin, range.count, scratch),
               range.count * element_size_, pending);
}

} // namespace mdist
