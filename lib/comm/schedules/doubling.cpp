// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/doubling.h"

#include "comm/call/bad_message.h"
#include "reduce/float_environment.h"
#include "util/dtype.h"
#include "util/round_up.h"

#include <algorithm>
#include <utility>

namespace mdist {

Doubling::Doubling(Link &link, const OperationHeader &mine, const DoublingPlan &plan,
                   const std::vector<ReduceRow> &rows, Scratch &scratch)
    : DoublingRounds(link, mine, plan),
      rows_(rows),
      own_(plan.joins()),
      others_(messages()),
      partials_(plan.cut(0).subtrees().size()) {
    lay_out(scratch);
    write_partials();
    start(own_[0], bytes(0, own_block(0)));
}

/// The size of a block's partials.
std::size_t Doubling::bytes(uint32_t round, uint32_t block) const {
    const reduce::Cut &cut = plan().cut(round);
    std::size_t bytes = 0;
    for (const ReduceRow &row : rows_) bytes += row.elements() * reduce::partial_size(row.dtype(), cut);
    return bytes * cut.count(block);
}

void Doubling::lay_out(Scratch &scratch) {
    constexpr std::size_t kAlignment = 64;
    std::size_t longest = 0;
    for (const ReduceRow &row : rows_) {
        const std::size_t row_bytes = row.elements() * dtype_size(row.dtype());
        longest = std::max(longest, row_bytes);
        result_bytes_ += row_bytes;
    }
    const auto each_piece = [&](auto use) {
        for (uint32_t round = 0; round < plan().joins(); ++round) {
            if (speaks(round)) use(own_[round], bytes(round, own_block(round)));
            for (uint32_t i = 0; i < part(round).from.count; ++i)
                use(others_[number(round, i)], bytes(round, other_block(round, i)));
        }
        use(results_, gives_results() ? result_bytes_ : longest);
    };
    std::size_t total = 0;
    each_piece([&](char *, std::size_t bytes) { total += round_up(bytes, kAlignment); });
    char *memory = scratch.take(total);
    each_piece(
        [&](char *&piece, std::size_t bytes) { piece = std::exchange(memory, memory + round_up(bytes, kAlignment)); });
}

void Doubling::write_partials() {
    const reduce::FloatEnvironment environment;
    char *to = own_[0];
    for (const ReduceRow &row : rows_) {
        for (uint32_t i = 0; i < row.partial_count(); ++i) {
            row.partial(i, 0, row.elements(), to);
            to += row.elements() * row.partial_size();
        }
    }
}

char *Doubling::room(uint32_t round, uint32_t index, uint64_t come) {
    const bool are_results = round == plan().joins();
    const uint64_t due = are_results ? result_bytes_ : bytes(round, other_block(round, index));
    if (come != due)
        throw bad_message(link().rank(part(round).from[index]),
                          text("an operation with a payload of ", come, " bytes instead of ", due));
    return are_results ? results_ : others_[number(round, index)];
}

void Doubling::join(uint32_t round) {
    const uint32_t next = round + 1;
    if (round == plan().joins()) {
        if (!speaks(round)) take_results();
    } else if (speaks(next)) {
        const reduce::FloatEnvironment environment;
        own_next_ = own_[round];
        others_next_.clear();
        for (uint32_t i = 0; i < part(round).from.count; ++i) others_next_.push_back(others_[number(round, i)]);
        next == plan().joins() ? combine(round) : merge(round);
    }
}

/// Makes the partials of the next round from those of this round, and gives them away.
void Doubling::merge(uint32_t round) {
    const reduce::Cut &cut = plan().cut(round), &coarse = plan().cut(round + 1);
    const uint32_t block = own_block(round + 1);
    char *to = own_[round + 1];
    for (const ReduceRow &row : rows_) {
        point_to_row(round, row);
        for (uint32_t i = coarse.first(block); i < coarse.first(block) + coarse.count(block); ++i) {
            reduce::merge_partials(row.operation(), cut, coarse, i, partials_.data(), to, row.elements());
            to += row.elements() * reduce::partial_size(row.dtype(), coarse);
        }
    }
    give(round + 1, own_[round + 1], bytes(round + 1, block));
}

/// Makes the results from the partials of the last joining round, and gives them to the mates.
void Doubling::combine(uint32_t round) {
    char *to = results_;
    for (const ReduceRow &row : rows_) {
        point_to_row(round, row);
        void *const room = gives_results() ? to : row.room(0, row.elements(), results_);
        reduce::combine_partials(row.operation(), plan().cut(round), partials_.data(), &room, 1, row.elements());
        row.take(0, row.elements(), room);
        to += row.elements() * dtype_size(row.dtype());
    }
    if (gives_results()) give(round + 1, results_, result_bytes_);
}

void Doubling::take_results() {
    const char *from = results_;
    for (const ReduceRow &row : rows_) {
        row.take(0, row.elements(), from);
        from += row.elements() * dtype_size(row.dtype());
    }
}

/// Points partials_ at all partials of a row that are here.
void Doubling::point_to_row(uint32_t round, const ReduceRow &row) {
    const reduce::Cut &cut = plan().cut(round);
    point_to_block(cut, own_block(round), row, own_next_);
    for (uint32_t i = 0; i < others_next_.size(); ++i) point_to_block(cut, other_block(round, i), row, others_next_[i]);
}

/// Points partials_ at a block's partials of a row. `from` is where they begin; it is moved on to the next row's.
void Doubling::point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from) {
    for (uint32_t i = cut.first(block); i < cut.first(block) + cut.count(block); ++i) {
        partials_[i] = from;
        from += row.elements() * reduce::partial_size(row.dtype(), cut);
    }
}

} // namespace mdist
