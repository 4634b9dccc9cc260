// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/rails.h"

#include "reduce/float_environment.h"
#include "util/dtype.h"

#include <algorithm>
#include <utility>

namespace mdist {

Rails::Rails(Link &link, uint64_t tag, const ReduceRow &row, uint32_t per_host, Scratch &scratch, Start start,
             uint64_t chunk_elements)
    : link_(link),
      tag_(tag),
      row_(row),
      per_host_(per_host),
      hosts_(link.parties() / per_host),
      host_(link.self() / per_host),
      rail_(link.self() % per_host),
      cut_(row.cut().spans().grouped(per_host)),
      element_size_(dtype_size(row.dtype())),
      partial_size_(reduce::partial_size(row.dtype(), cut_)),
      part_elements_(aligned_elements((row.elements() + link.parties() - 1) / link.parties(), element_size_)),
      chunk_elements_(chunk_elements),
      partials_(row.cut().subtrees().size()),
      host_partials_(cut_.subtrees().size()) {
    if (chunk_elements_ == 0)
        chunk_elements_ = best_chunk_elements(element_size_, part_elements_, per_host_ + hosts_ - 2);
    chunk_elements_ = std::min(chunk_elements_, std::max<uint64_t>(part_elements_, 1));
    for (uint32_t rail = 0; rail < per_host_; ++rail) pieces_.push_back(pieces_of(rail));
    lay_out(scratch);
    start == Start::kNow ? begin() : static_cast<void>(step());
}

void Rails::begin() {
    begun_ = true;
    step();
}

uint64_t Rails::part_begin(uint32_t host, uint32_t rail) const {
    return std::min((uint64_t{rail} * hosts_ + host) * part_elements_, row_.elements());
}

uint64_t Rails::chunks(uint32_t host, uint32_t rail) const {
    const uint64_t end = std::min(part_begin(host, rail) + part_elements_, row_.elements());
    return (end - part_begin(host, rail) + chunk_elements_ - 1) / chunk_elements_;
}

Range Rails::chunk(uint32_t host, uint32_t rail, uint64_t index) const {
    const uint64_t part = part_begin(host, rail);
    const uint64_t begin = part + index * chunk_elements_;
    return {begin, std::min({chunk_elements_, part + part_elements_ - begin, row_.elements() - begin})};
}

std::vector<Rails::Piece> Rails::pieces_of(uint32_t rail) const {
    std::vector<Piece> pieces;
    for (uint64_t index = 0; index * chunk_elements_ < part_elements_; ++index) {
        for (uint32_t i = 1; i <= hosts_; ++i) {
            const uint32_t host = (host_ + i) % hosts_;
            if (index < chunks(host, rail)) pieces.push_back({host, index, chunk(host, rail, index)});
        }
    }
    return pieces;
}

void Rails::lay_out(Scratch &scratch) {
    slot_bytes_ = chunk_elements_ *
                  std::max({row_.cut().most() * row_.partial_size(), cut_.most() * partial_size_, element_size_});
    // Each worker begins with its neighbour, so that not all send to the first worker at once.
    for (uint32_t i = 1; i < per_host_; ++i) mates_.push_back(peer_of(host_, (rail_ + i) % per_host_));
    for (uint32_t i = 1; i < hosts_; ++i) rails_.push_back(peer_of((host_ + i) % hosts_, rail_));

    char *memory = scratch.take(slot_bytes_ * (2 + kWindow + 2 * kWindow * (mates_.size() + rails_.size())));
    const auto take = [&](std::size_t slots) { return std::exchange(memory, memory + slots * slot_bytes_); };
    own_ = take(1);
    result_ = take(1);
    kept_ = take(kWindow);
    for (std::vector<Peer> *peers : {&mates_, &rails_}) {
        for (Peer &peer : *peers) {
            peer.out.scratch = take(kWindow);
            peer.in.scratch = take(kWindow);
        }
    }
}

Rails::Peer Rails::peer_of(uint32_t host, uint32_t rail) const {
    Peer peer = {host * per_host_ + rail, host, rail, {}, {}};
    const bool mate = is_mate(peer);
    // A mate gets the partials of its segment; a peer on the rail gets those of its part. Then come this worker's own
    // results.
    peer.out.partials = mate ? pieces_[rail].size() : chunks(host, rail_);
    peer.in.partials = mate ? pieces_[rail_].size() : chunks(host_, rail_);
    peer.out.results = peer.in.partials;
    peer.in.results = peer.out.partials;
    return peer;
}

Range Rails::given(const Peer &peer, uint64_t index) const {
    return is_mate(peer) ? pieces_[rail_][index].range : chunk(host_, rail_, index);
}

Range Rails::got(const Peer &peer, uint64_t index) const {
    return is_mate(peer) ? pieces_[peer.rail][index].range : chunk(peer.host, rail_, index);
}

bool Rails::has_result(const Peer &peer, uint64_t index) {
    if (!is_mate(peer)) return index < combined_;
    const Piece &piece = pieces_[rail_][index];
    if (piece.host == host_) return piece.index < combined_;
    const PeerStream &in = along(piece.host).in;
    return in.partials + piece.index < in.taken;
}

bool Rails::advance() {
    // Go on until only the link can bring it further.
    do link_.progress();
    while (step());
    const auto done = [](const Peer &peer) { return peer.in.all_taken() && peer.out.all_sent(); };
    return std::all_of(mates_.begin(), mates_.end(), done) && std::all_of(rails_.begin(), rails_.end(), done);
}

/// Does what can be done now. Returns whether there was anything.
bool Rails::step() {
    const reduce::FloatEnvironment environment;
    bool any = false;
    while (combine_next() || reduce_next()) any = true;
    for (std::vector<Peer> *peers : {&rails_, &mates_}) {
        for (Peer &peer : *peers) {
            while (take_results(peer)) any = true;
            while (post_receive(peer)) any = true;
        }
        // Send chunk by chunk over all peers, so that no peer waits until the others have a whole window.
        for (bool more = true; more; any |= more) {
            more = false;
            for (Peer &peer : *peers) more |= post_send(peer);
        }
    }
    return any;
}

bool Rails::reduce_next() {
    if (reduced_ == pieces_[rail_].size()) return false;
    for (const Peer &mate : mates_)
        if (!mate.in.arrived()) return false;
    const Piece &piece = pieces_[rail_][reduced_];
    if (piece.host == host_) {
        if (kept_count_ - combined_ == kWindow) return false;
        reduce(piece.range, kept_ + kept_count_++ % kWindow * slot_bytes_);
    } else {
        const Peer &owner = along(piece.host);
        PeerStream &out = along(piece.host).out;
        const uint64_t slot = out.posted % kWindow;
        if (!out.pending[slot].done()) return false;
        char *const partials = out.scratch + slot * slot_bytes_;
        reduce(piece.range, partials);
        link_.send(owner.rank, tag_ + out.posted++, partials, piece.range.count * partial_size_ * cut_.count(host_),
                   out.pending[slot]);
    }
    for (Peer &mate : mates_) ++mate.in.taken;
    ++reduced_;
    return true;
}

/// Makes this host's partials of a range from its workers' partials.
void Rails::reduce(const Range &range, char *to) {
    const reduce::Cut &cut = row_.cut();
    const std::size_t bytes = range.count * row_.partial_size();
    const auto point = [&](uint32_t worker, const void *first) {
        for (uint32_t i = 0; i < cut.count(worker); ++i)
            partials_[cut.first(worker) + i] = static_cast<const char *>(first) + i * bytes;
    };
    for (const Peer &mate : mates_) point(mate.rank, mate.in.scratch + mate.in.taken % kWindow * slot_bytes_);
    point(link_.self(), row_.partials(range.begin, range.count, own_));
    for (uint32_t i = 0; i < cut_.count(host_); ++i)
        reduce::merge_partials(row_.operation(), cut, cut_, cut_.first(host_) + i, partials_.data(),
                               to + i * range.count * partial_size_, range.count);
}

bool Rails::combine_next() {
    if (combined_ == kept_count_) return false;
    for (const Peer &peer : rails_)
        if (!peer.in.arrived()) return false;
    const Range range = chunk(host_, rail_, combined_);
    const auto point = [&](uint32_t host, const char *first) {
        for (uint32_t i = 0; i < cut_.count(host); ++i)
            host_partials_[cut_.first(host) + i] = first + i * range.count * partial_size_;
    };
    for (const Peer &peer : rails_) point(peer.host, peer.in.scratch + combined_ % kWindow * slot_bytes_);
    point(host_, kept_ + combined_ % kWindow * slot_bytes_);
    void *const to = row_.room(range.begin, range.count, result_);
    reduce::combine_partials(row_.operation(), cut_, host_partials_.data(), &to, 1, range.count);
    row_.take(range.begin, range.count, to);
    for (Peer &peer : rails_) ++peer.in.taken;
    ++combined_;
    return true;
}

bool Rails::take_results(Peer &peer) {
    PeerStream &in = peer.in;
    if (in.taken < in.partials || !in.arrived()) return false;
    const Range range = got(peer, in.taken - in.partials);
    row_.take(range.begin, range.count,
              row_.room(range.begin, range.count, in.scratch + in.taken % kWindow * slot_bytes_));
    ++in.taken;
    return true;
}

std::size_t Rails::incoming_bytes(const Peer &peer, uint64_t message) const {
    if (message >= peer.in.partials) return got(peer, message - peer.in.partials).count * element_size_;
    const uint64_t count = given(peer, message).count;
    return is_mate(peer) ? count * row_.partial_size() * row_.cut().count(peer.rank)
                         : count * partial_size_ * cut_.count(peer.host);
}

bool Rails::post_receive(Peer &peer) {
    PeerStream &in = peer.in;
    if (!begun_ || in.posted == in.total() || in.posted - in.taken == kWindow) return false;
    const uint64_t slot = in.posted % kWindow;
    void *to = in.scratch + slot * slot_bytes_;
    if (in.posted >= in.partials) {
        const Range range = got(peer, in.posted - in.partials);
        to = row_.room(range.begin, range.count, to);
    }
    link_.receive(peer.rank, tag_ + in.posted, to, incoming_bytes(peer, in.posted), in.pending[slot]);
    ++in.posted;
    return true;
}

/// Sends the next message, except partials along the rail: those are sent as they are reduced.
bool Rails::post_send(Peer &peer) {
    PeerStream &out = peer.out;
    const uint64_t slot = out.posted % kWindow;
    if (out.posted == out.total() || !out.pending[slot].done()) return false;
    char *const scratch = out.scratch + slot * slot_bytes_;
    if (out.posted < out.partials) {
        if (!is_mate(peer)) return false;
        post_partials(peer, scratch, out.pending[slot]);
    } else {
        const uint64_t index = out.posted - out.partials;
        if (!has_result(peer, index)) return false;
        post_results(peer, given(peer, index), scratch, out.pending[slot]);
    }
    ++out.posted;
    return true;
}

void Rails::post_partials(Peer &peer, char *scratch, Pending &pending) {
    const Range range = pieces_[peer.rail][peer.out.posted].range;
    link_.send(peer.rank, tag_ + peer.out.posted, row_.partials(range.begin, range.count, scratch),
               range.count * row_.partial_size() * row_.partial_count(), pending);
}

void Rails::post_results(Peer &peer, const Range &range, char *scratch, Pending &pending) {
    link_.send(peer.rank, tag_ + peer.out.posted, row_.results(range.begin, range.count, scratch),
               range.count * element_size_, pending);
}

} // namespace mdist
