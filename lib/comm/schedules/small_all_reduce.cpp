// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/small_all_reduce.h"

#include "comm/call/bad_message.h"
#include "reduce/float_environment.h"
#include "util/dtype.h"
#include "util/round_up.h"

#include <algorithm>
#include <utility>

namespace mdist {

SmallAllReduce::SmallAllReduce(Link &link, const OperationHeader &mine, const JoinPlan &plan,
                               const std::vector<ReduceRow> &rows, Scratch &scratch)
    : JoinRounds(link, mine, plan),
      rows_(rows),
      segment_(plan.segment(link.self())),
      own_(plan.joins()),
      last_(plan.segments()),
      others_(messages()),
      results_(plan.segments()),
      partials_(plan.cut(0).subtrees().size()) {
    cut_into_segments();
    lay_out(scratch);
    write_partials();
    start();
}

void SmallAllReduce::cut_into_segments() {
    const uint32_t segments = plan().segments();
    stretches_.reserve(segments * rows_.size());
    for (uint32_t segment = 0; segment < segments; ++segment) {
        for (const ReduceRow &row : rows_) {
            const uint64_t all = row.elements();
            const uint64_t even = aligned_elements((all + segments - 1) / segments, dtype_size(row.dtype()));
            const uint64_t begin = std::min(segment * even, all);
            stretches_.push_back({&row, segments == 1 ? Range{0, all} : Range{begin, std::min(even, all - begin)}});
        }
    }
}

std::span<const SmallAllReduce::Stretch> SmallAllReduce::stretches(uint32_t segment) const {
    return {stretches_.data() + segment * rows_.size(), rows_.size()};
}

/// The size of a block's partials of a segment.
std::size_t SmallAllReduce::bytes(uint32_t round, uint32_t block, uint32_t segment) const {
    const reduce::Cut &cut = plan().cut(round);
    std::size_t bytes = 0;
    for (const auto &[row, range] : stretches(segment)) bytes += range.count * reduce::partial_size(row->dtype(), cut);
    return bytes * cut.count(block);
}

/// The size of a block's partials.
std::size_t SmallAllReduce::bytes(uint32_t round, uint32_t block) const {
    std::size_t all = 0;
    for (uint32_t segment = 0; segment < plan().segments(); ++segment) all += bytes(round, block, segment);
    return all;
}

std::size_t SmallAllReduce::incoming_bytes(uint32_t round, uint32_t index) const {
    const uint32_t block = other_block(round, index);
    return plan().gives_segments(round) ? bytes(round, block, segment_) : bytes(round, block);
}

std::size_t SmallAllReduce::result_bytes(uint32_t segment) const {
    std::size_t bytes = 0;
    for (const auto &[row, range] : stretches(segment)) bytes += range.count * dtype_size(row->dtype());
    return bytes;
}

std::size_t SmallAllReduce::result_bytes() const {
    std::size_t all = 0;
    for (uint32_t segment = 0; segment < plan().segments(); ++segment) all += result_bytes(segment);
    return all;
}

void SmallAllReduce::lay_out(Scratch &scratch) {
    constexpr std::size_t kPieceAlignment = 64;
    const auto each_piece = [&](auto use) {
        for (uint32_t round = 0; round < plan().joins(); ++round) {
            if (speaks(round)) use(own_[round], bytes(round, own_block(round)), kPieceAlignment);
            for (uint32_t i = 0; i < part(round).from.count; ++i)
                use(others_[number(round, i)], incoming_bytes(round, i), kPieceAlignment);
        }
        // Results lie end to end, so that they can be given in one message.
        for (uint32_t segment = 0; segment < plan().segments(); ++segment)
            use(results_[segment], result_bytes(segment), 1);
    };
    std::size_t total = 0;
    each_piece([&](char *, std::size_t bytes, std::size_t alignment) { total += round_up(bytes, alignment); });
    char *memory = scratch.take(total);
    each_piece([&](char *&piece, std::size_t bytes, std::size_t alignment) {
        piece = std::exchange(memory, memory + round_up(bytes, alignment));
    });
    const uint32_t round = plan().joins() - 1;
    if (!speaks(round)) return;
    char *next = own_[round];
    for (uint32_t segment = 0; segment < plan().segments(); ++segment)
        last_[segment] = std::exchange(next, next + bytes(round, own_block(round), segment));
}

void SmallAllReduce::write_partials() {
    const reduce::FloatEnvironment environment;
    char *to = own_[0];
    for (const auto &[row, range] : stretches_) {
        for (uint32_t i = 0; i < row->partial_count(); ++i) {
            row->partial(i, range.begin, range.count, to);
            to += range.count * row->partial_size();
        }
    }
}

JoinRounds::Message SmallAllReduce::message(uint32_t round, uint32_t index) const {
    if (round < plan().joins()) {
        const uint32_t block = own_block(round);
        if (!plan().gives_segments(round)) return {own_[round], bytes(round, block)};
        const uint32_t theirs = plan().segment(part(round).to[index]);
        return {last_[theirs], bytes(round, block, theirs)};
    }
    if (round < plan().spreads()) return {results_[segment_], result_bytes(segment_)};
    return {results_[0], result_bytes()};
}

char *SmallAllReduce::room(uint32_t round, uint32_t index, uint64_t come) {
    char *to = nullptr;
    uint64_t due = 0;
    if (round < plan().joins()) {
        to = others_[number(round, index)];
        due = incoming_bytes(round, index);
    } else if (round < plan().spreads()) {
        const uint32_t theirs = plan().segment(part(round).from[index]);
        to = results_[theirs];
        due = result_bytes(theirs);
    } else {
        to = results_[0];
        due = result_bytes();
    }
    if (come != due)
        throw bad_message(link().rank(part(round).from[index]),
                          text("an operation with a payload of ", come, " bytes instead of ", due));
    return to;
}

void SmallAllReduce::join(uint32_t round) {
    const uint32_t next = round + 1;
    if (round >= plan().joins()) {
        if (next < rounds()) give(next);
        if (part(round).from.count != 0) take_results();
    } else if (speaks(next)) {
        const reduce::FloatEnvironment environment;
        own_next_ = next == plan().joins() ? last_[segment_] : own_[round];
        others_next_.clear();
        for (uint32_t i = 0; i < part(round).from.count; ++i) others_next_.push_back(others_[number(round, i)]);
        next == plan().joins() ? combine(round) : merge(round);
        if (next < rounds()) give(next);
    }
}

/// Makes the partials of the next round from those of this round.
void SmallAllReduce::merge(uint32_t round) {
    const reduce::Cut &cut = plan().cut(round), &coarse = plan().cut(round + 1);
    const uint32_t block = own_block(round + 1);
    char *to = own_[round + 1];
    for (const Stretch &stretch : stretches_) {
        const auto &[row, range] = stretch;
        point_to_partials(round, stretch);
        for (uint32_t i = coarse.first(block); i < coarse.first(block) + coarse.count(block); ++i) {
            reduce::merge_partials(row->operation(), cut, coarse, i, partials_.data(), to, range.count);
            to += range.count * reduce::partial_size(row->dtype(), coarse);
        }
    }
}

/// Makes the results of the own segment from the partials of the last joining round.
void SmallAllReduce::combine(uint32_t round) {
    const bool whole = plan().segments() == 1;
    char *to = results_[segment_];
    for (const Stretch &stretch : stretches(segment_)) {
        const auto &[row, range] = stretch;
        point_to_partials(round, stretch);
        void *const room = moves_results() ? to : row->room(range.begin, range.count, to);
        reduce::combine_partials(row->operation(), plan().cut(round), partials_.data(), &room, 1, range.count);
        if (whole) row->take(range.begin, range.count, room);
        to += range.count * dtype_size(row->dtype());
    }
}

void SmallAllReduce::take_results() {
    const char *from = results_[0];
    for (const auto &[row, range] : stretches_) {
        if (range.count != 0) row->take(range.begin, range.count, from);
        from += range.count * dtype_size(row->dtype());
    }
}

/// Points partials_ at all partials of a stretch that are here.
void SmallAllReduce::point_to_partials(uint32_t round, const Stretch &stretch) {
    const reduce::Cut &cut = plan().cut(round);
    point_to_block(cut, own_block(round), stretch, own_next_);
    for (uint32_t i = 0; i < others_next_.size(); ++i)
        point_to_block(cut, other_block(round, i), stretch, others_next_[i]);
}

/// Points partials_ at a block's partials of a stretch. `from` is where they begin; it is moved on to the next one's.
void SmallAllReduce::point_to_block(const reduce::Cut &cut, uint32_t block, const Stretch &stretch, const char *&from) {
    for (uint32_t i = cut.first(block); i < cut.first(block) + cut.count(block); ++i) {
        partials_[i] = from;
        from += stretch.range.count * reduce::partial_size(stretch.row->dtype(), cut);
    }
}

} // namespace mdist
