// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/tree_sum.h"

#include "comm/call/bad_message.h"
#include "reduce/float_environment.h"
#include "util/dtype.h"
#include "util/round_up.h"
#include "util/text.h"

#include <utility>

namespace mdist {

TreeSum::TreeSum(Link &link, const OperationHeader &mine, const JoinPlan &plan, const std::vector<ReduceRow> &rows,
                 Scratch &scratch)
    : JoinRounds(link, mine, plan),
      rows_(rows),
      own_(plan.joins()),
      others_(messages()),
      partials_(plan.cut(0).subtrees().size()) {
    lay_out(scratch);
    write_partials();
    start();
}

/// The size of a block's partials.
std::size_t TreeSum::bytes(uint32_t round, uint32_t block) const {
    const reduce::Cut &cut = plan().cut(round);
    std::size_t bytes = 0;
    for (const ReduceRow &row : rows_) bytes += row.elements() * reduce::partial_size(row.dtype(), cut);
    return bytes * cut.count(block);
}

std::size_t TreeSum::result_bytes() const {
    std::size_t bytes = 0;
    for (const ReduceRow &row : rows_) bytes += row.elements() * dtype_size(row.dtype());
    return bytes;
}

std::size_t TreeSum::incoming_bytes(uint32_t round, uint32_t index) const {
    return round < plan().joins() ? bytes(round, other_block(round, index)) : result_bytes();
}

void TreeSum::lay_out(Scratch &scratch) {
    constexpr std::size_t kPieceAlignment = 64;
    const auto each_piece = [&](auto use) {
        for (uint32_t round = 0; round < plan().joins(); ++round) {
            if (speaks(round)) use(own_[round], bytes(round, own_block(round)));
            for (uint32_t i = 0; i < part(round).from.count; ++i)
                use(others_[number(round, i)], incoming_bytes(round, i));
        }
        use(results_, result_bytes());
    };
    std::size_t total = 0;
    each_piece([&](char *, std::size_t bytes) { total += round_up(bytes, kPieceAlignment); });
    char *memory = scratch.take(total);
    each_piece([&](char *&piece, std::size_t bytes) {
        piece = std::exchange(memory, memory + round_up(bytes, kPieceAlignment));
    });
}

void TreeSum::write_partials() {
    const reduce::FloatEnvironment environment;
    char *to = own_[0];
    for (const ReduceRow &row : rows_)
        for (uint32_t i = 0; i < row.partial_count(); ++i, to += row.elements() * row.partial_size())
            row.partial(i, 0, row.elements(), to);
}

JoinRounds::Message TreeSum::message(uint32_t round, uint32_t) const {
    if (round < plan().joins()) return {own_[round], bytes(round, own_block(round))};
    return {results_, result_bytes()};
}

char *TreeSum::room(uint32_t round, uint32_t index, uint64_t come) {
    const std::size_t due = incoming_bytes(round, index);
    if (come != due)
        throw bad_message(link().rank(part(round).from[index]),
                          text("an operation with a payload of ", come, " bytes instead of ", due));
    return round < plan().joins() ? others_[number(round, index)] : results_;
}

void TreeSum::join(uint32_t round) {
    const uint32_t next = round + 1;
    if (round == plan().joins()) {
        if (part(round).from.count != 0) take_results();
    } else if (speaks(next)) {
        const reduce::FloatEnvironment environment;
        begin_pointing(round);
        next == plan().joins() ? combine(round) : merge(round);
        if (next < rounds()) give(next);
    }
}

/// Makes the partials of the next round from those of this round.
void TreeSum::merge(uint32_t round) {
    const reduce::Cut &cut = plan().cut(round), &coarse = plan().cut(round + 1);
    const uint32_t block = own_block(round + 1);
    char *to = own_[round + 1];
    for (const ReduceRow &row : rows_) {
        point_to_partials(round, row);
        for (uint32_t i = coarse.first(block); i < coarse.first(block) + coarse.count(block); ++i) {
            reduce::merge_partials(row.operation(), cut, coarse, i, partials_.data(), to, row.elements());
            to += row.elements() * reduce::partial_size(row.dtype(), coarse);
        }
    }
}

/// Makes the results from the partials of the last joining round.
void TreeSum::combine(uint32_t round) {
    const bool mates_get_them = rounds() > plan().joins();
    char *to = results_;
    for (const ReduceRow &row : rows_) {
        point_to_partials(round, row);
        void *const room = mates_get_them ? to : row.room(0, row.elements(), to);
        reduce::combine_partials(row.operation(), plan().cut(round), partials_.data(), &room, 1, row.elements());
        if (row.elements() != 0) row.take(0, row.elements(), room);
        to += row.elements() * dtype_size(row.dtype());
    }
}

void TreeSum::take_results() {
    const char *from = results_;
    for (const ReduceRow &row : rows_) {
        if (row.elements() != 0) row.take(0, row.elements(), from);
        from += row.elements() * dtype_size(row.dtype());
    }
}

void TreeSum::begin_pointing(uint32_t round) {
    own_next_ = own_[round];
    others_next_.clear();
    for (uint32_t i = 0; i < part(round).from.count; ++i) others_next_.push_back(others_[number(round, i)]);
}

/// Points partials_ at all partials of a row that are here.
void TreeSum::point_to_partials(uint32_t round, const ReduceRow &row) {
    const reduce::Cut &cut = plan().cut(round);
    point_to_block(cut, own_block(round), row, own_next_);
    for (uint32_t i = 0; i < others_next_.size(); ++i) point_to_block(cut, other_block(round, i), row, others_next_[i]);
}

/// Points partials_ at a block's partials of a row. `from` is where they begin; it is moved on to the next row's.
void TreeSum::point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from) {
    for (uint32_t i = cut.first(block); i < cut.first(block) + cut.count(block); ++i) {
        partials_[i] = from;
        from += row.elements() * reduce::partial_size(row.dtype(), cut);
    }
}

} // namespace mdist
