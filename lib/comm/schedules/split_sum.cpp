// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/split_sum.h"

#include "reduce/float_environment.h"
#include "util/dtype.h"
#include "util/round_up.h"

#include <utility>

namespace mdist {

SplitSum::SplitSum(Link &link, uint64_t tag, const ReduceRow &row, const SplitPlan &plan, Scratch &scratch, Start start,
                   uint64_t slice)
    : link_(link),
      tag_(tag),
      row_(row),
      plan_(plan),
      element_size_(dtype_size(row.dtype())),
      slices_(row, plan, kWindow, slice),
      levels_(plan.levels(link.self())),
      partials_(plan.cut(0).subtrees().size()) {
    for (uint32_t level = 0; level < levels_.size(); ++level) make_level(level);
    lay_out(scratch);
    start == Start::kNow ? begin() : static_cast<void>(step());
}

void SplitSum::begin() {
    begun_ = true;
    step();
}

void SplitSum::make_level(uint32_t index) {
    Level &level = levels_[index];
    const std::vector<SplitPlan::Member> group = plan_.group(index, link_.self());
    std::size_t self = 0;
    while (group[self].worker != link_.self()) ++self;
    level.self = group[self];
    level.partial_size = reduce::partial_size(row_.dtype(), plan_.cut(index));
    level.peers.reserve(group.size()); // must not grow: the link points into it
    for (std::size_t i = 1; i < group.size(); ++i) {
        Peer &peer = level.peers.emplace_back(Peer{group[(self + i) % group.size()]});
        const bool gives = row_.scatters() ? peer.member.rests() : !level.self.rests();
        const bool gets = row_.scatters() ? level.self.rests() : !peer.member.rests();
        peer.out.partials = peer.member.rests() ? 0 : slices_.count();
        peer.in.partials = level.self.rests() ? 0 : slices_.count();
        peer.out.results = gives ? slices_.count() : 0;
        peer.in.results = gets ? slices_.count() : 0;
        if (row_.scatters() && gives) resting_ = &peer;
    }
}

std::size_t SplitSum::partial_bytes(uint32_t level, uint64_t elements, uint32_t block) const {
    return elements * levels_[level].partial_size * plan_.cut(level).count(block);
}

uint64_t SplitSum::most_results(const Level &level, const Peer &peer, bool given) const {
    if (row_.scatters()) return slices_.part(given ? peer.member.worker : link_.self(), 0).count;
    return slices_.most(given ? level.self.keeps : peer.member.keeps);
}

void SplitSum::lay_out(Scratch &scratch) {
    constexpr std::size_t kAlignment = 64;
    const auto each_stream = [&](auto use) {
        for (uint32_t i = 0; i < levels_.size(); ++i) {
            Level &level = levels_[i];
            const uint32_t own = level.self.block;
            const uint64_t kept = slices_.most(level.self.keeps);
            for (Peer &peer : level.peers) {
                use(peer.out, std::max(partial_bytes(i, slices_.most(peer.member.keeps), own),
                                       most_results(level, peer, true) * element_size_));
                use(peer.in, std::max(partial_bytes(i, kept, peer.member.block),
                                      most_results(level, peer, false) * element_size_));
            }
            use(level.own, partial_bytes(i, kept, own));
        }
    };
    const std::size_t result = slices_.most(levels_.back().self.keeps) * element_size_;
    std::size_t total = result;
    each_stream([&](PeerStream &stream, std::size_t bytes) {
        stream.slot_bytes = round_up(bytes, kAlignment);
        total += kWindow * stream.slot_bytes;
    });
    char *memory = scratch.take(total);
    each_stream([&](PeerStream &stream, std::size_t) {
        stream.scratch = std::exchange(memory, memory + kWindow * stream.slot_bytes);
    });
    result_ = memory;
}

bool SplitSum::advance() {
    // Go on until only the link can bring it further.
    do link_.progress();
    while (step());
    return std::all_of(levels_.begin(), levels_.end(), [this](const Level &level) {
        return level.merged == slices_.count() &&
               std::all_of(level.peers.begin(), level.peers.end(),
                           [](const Peer &peer) { return peer.in.all_taken() && peer.out.all_sent(); });
    });
}

/// Does what can be done now. Returns whether it posted something: if not, only the link can bring it further, since
/// whatever lets an earlier level go on posts, too.
bool SplitSum::step() {
    const reduce::FloatEnvironment environment;
    for (uint32_t level = 0; level < levels_.size(); ++level)
        while (merge_next(level)) {
        }
    bool posted = false;
    for (uint32_t level = 0; level < levels_.size(); ++level)
        for (Peer &peer : levels_[level].peers) {
            while (take_results(levels_[level], peer)) {
            }
            while (post_receive(level, peer)) posted = true;
        }
    count_ready();
    // Send message by message over all peers, so that no peer waits until the others have a whole window.
    for (bool more = true; more; posted |= more) {
        more = false;
        for (uint32_t level = 0; level < levels_.size(); ++level)
            for (Peer &peer : levels_[level].peers) more |= post_send(level, peer);
    }
    return posted;
}

bool SplitSum::merge_next(uint32_t index) {
    Level &level = levels_[index];
    const uint64_t slice = level.merged;
    if (slice == slices_.count() || (index > 0 && levels_[index - 1].merged == slice)) return false;
    for (const Peer &peer : level.peers)
        if (peer.in.partials != 0 && !peer.in.arrived()) return false;
    if (!has_room(index, slice)) return false;
    char *const room = level.own.slot(slice);
    const void *const own = index == 0 ? own_partials(level.self.keeps, slice, room) : room;
    index + 1 == levels_.size() ? combine(slice, own) : merge(index, slice, own);
    for (Peer &peer : level.peers) peer.in.taken += peer.in.partials != 0;
    ++level.merged;
    return true;
}

/// Whether what merging a slice makes has a place: what was made a window earlier is used up.
bool SplitSum::has_room(uint32_t index, uint64_t slice) const {
    if (slice < kWindow) return true;
    const uint64_t earlier = slice - kWindow;
    if (index + 1 == levels_.size()) return resting_ == nullptr || resting_->out.sent(earlier);
    const Level &next = levels_[index + 1];
    return next.merged > earlier && std::all_of(next.peers.begin(), next.peers.end(), [&](const Peer &peer) {
               return peer.out.partials == 0 || peer.out.sent(earlier);
           });
}

/// This worker's own partials of some pieces, each whole, one after another.
const void *SplitSum::own_partials(const Pieces &pieces, uint64_t slice, char *scratch) const {
    Range one;
    uint64_t ranges = 0;
    slices_.each(pieces, slice, [&](const Range &range) { one = range, ++ranges; });
    if (ranges == 1) return row_.partials(one.begin, one.count, scratch);
    char *to = scratch;
    for (uint32_t i = 0; i < row_.partial_count(); ++i)
        slices_.each(pieces, slice, [&](const Range &range) {
            row_.partial(i, range.begin, range.count, to);
            to += range.count * row_.partial_size();
        });
    return scratch;
}

/// Points partials_ at all that is here of a slice at a level, `skip` elements behind the first that this worker keeps.
void SplitSum::point(uint32_t index, uint64_t slice, const void *own, uint64_t skip) {
    const Level &level = levels_[index];
    const reduce::Cut &cut = plan_.cut(index);
    const std::size_t bytes = slices_.elements(level.self.keeps, slice) * level.partial_size;
    const auto point_to = [&](uint32_t block, const void *first) {
        for (uint32_t i = 0; i < cut.count(block); ++i)
            partials_[cut.first(block) + i] = static_cast<const char *>(first) + i * bytes + skip * level.partial_size;
    };
    for (const Peer &peer : level.peers) point_to(peer.member.block, peer.in.slot(slice));
    point_to(level.self.block, own);
}

/// Makes the partials that this worker gives at the next level, also to itself.
void SplitSum::merge(uint32_t index, uint64_t slice, const void *own) {
    const Pieces &held = levels_[index].self.keeps;
    const Level &next = levels_[index + 1];
    const reduce::Cut &fine = plan_.cut(index), &coarse = plan_.cut(index + 1);
    const auto make = [&](const Pieces &keeps, char *to) {
        const uint64_t count = slices_.elements(keeps, slice);
        point(index, slice, own, slices_.elements({held.begin, keeps.begin}, slice));
        for (uint32_t i = 0; i < coarse.count(next.self.block); ++i)
            reduce::merge_partials(row_.operation(), fine, coarse, coarse.first(next.self.block) + i, partials_.data(),
                                   to + i * count * next.partial_size, count);
    };
    for (const Peer &peer : next.peers) make(peer.member.keeps, peer.out.slot(slice));
    make(next.self.keeps, next.own.slot(slice));
}

/// Makes the results of this worker's piece.
void SplitSum::combine(uint64_t slice, const void *own) {
    const Level &last = levels_.back();
    if (last.self.rests()) return;
    const auto index = static_cast<uint32_t>(levels_.size() - 1);
    const auto make = [&](const Range &range, uint64_t skip, void *to) {
        point(index, slice, own, skip);
        reduce::combine_partials(row_.operation(), plan_.cut(index), partials_.data(), &to, 1, range.count);
    };
    const Range mine = row_.scatters() ? slices_.part(link_.self(), slice) : slices_.range(last.self.keeps, slice);
    if (mine.count != 0) {
        void *const to = row_.room(mine.begin, mine.count, result_);
        make(mine, 0, to);
        row_.take(mine.begin, mine.count, to);
    }
    if (resting_ != nullptr) make(slices_.part(resting_->member.worker, slice), mine.count, resting_->out.slot(slice));
}

/// From the last level down: what is kept at a level is there when what is kept at the next one is, and all that peers
/// there give.
void SplitSum::count_ready() {
    uint64_t ready = levels_.back().merged;
    for (std::size_t i = levels_.size(); i-- > 0;) {
        levels_[i].ready = ready;
        for (const Peer &peer : levels_[i].peers)
            if (peer.in.results != 0)
                ready = std::min(ready, peer.in.taken - std::min(peer.in.taken, peer.in.partials));
    }
}

/// The results that this worker gives to a peer, or gets from it.
Range SplitSum::results(const Level &level, const Peer &peer, bool given, uint64_t slice) const {
    if (row_.scatters()) return slices_.part(given ? peer.member.worker : link_.self(), slice);
    return slices_.range(given ? level.self.keeps : peer.member.keeps, slice);
}

bool SplitSum::take_results(const Level &level, Peer &peer) {
    PeerStream &in = peer.in;
    if (in.taken < in.partials || !in.arrived()) return false;
    const Range range = results(level, peer, false, in.taken - in.partials);
    if (range.count != 0) row_.take(range.begin, range.count, row_.room(range.begin, range.count, in.slot(in.taken)));
    ++in.taken;
    return true;
}

/// A message of no bytes is not sent: both sides know.
bool SplitSum::post_receive(uint32_t index, Peer &peer) {
    PeerStream &in = peer.in;
    if (!begun_ || in.posted == in.total() || in.posted - in.taken == kWindow) return false;
    void *to = in.slot(in.posted);
    std::size_t bytes = 0;
    if (in.posted < in.partials) {
        bytes = partial_bytes(index, slices_.elements(levels_[index].self.keeps, in.posted), peer.member.block);
    } else {
        const Range range = results(levels_[index], peer, false, in.posted - in.partials);
        bytes = range.count * element_size_;
        if (bytes != 0) to = row_.room(range.begin, range.count, to);
    }
    if (bytes != 0) link_.receive(peer.member.worker, tag_ + in.posted, to, bytes, in.pending[in.posted % kWindow]);
    ++in.posted;
    return true;
}

bool SplitSum::post_send(uint32_t index, Peer &peer) {
    const Level &level = levels_[index];
    PeerStream &out = peer.out;
    Pending &pending = out.pending[out.posted % kWindow];
    if (out.posted == out.total() || !pending.done()) return false;
    const bool partials = out.posted < out.partials;
    const uint64_t slice = partials ? out.posted : out.posted - out.partials;
    if (partials ? index > 0 && levels_[index - 1].merged <= slice : level.ready <= slice) return false;
    const void *data = out.slot(out.posted);
    std::size_t bytes = 0;
    if (partials) {
        bytes = partial_bytes(index, slices_.elements(peer.member.keeps, slice), level.self.block);
        if (index == 0 && bytes != 0) data = own_partials(peer.member.keeps, slice, out.slot(slice));
    } else {
        const Range range = results(level, peer, true, slice);
        bytes = range.count * element_size_;
        if (bytes != 0 && !row_.scatters()) data = row_.results(range.begin, range.count, out.slot(out.posted));
    }
    if (bytes != 0) link_.send(peer.member.worker, tag_ + out.posted, data, bytes, pending);
    ++out.posted;
    return true;
}

} // namespace mdist
