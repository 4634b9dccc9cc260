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
    : DoublingRounds(link, mine, plan), rows_(rows), memory_(plan.rounds()), partials_(plan.cut(0).subtrees().size()) {
    lay_out(scratch);
    write_partials();
    start(memory_[0].own, bytes(0, own_block(0)));
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
    const auto aligned = [](std::size_t bytes) { return round_up(bytes, kAlignment); };
    std::size_t total = 0, longest = 0;
    for (const ReduceRow &row : rows_) longest = std::max(longest, row.elements() * dtype_size(row.dtype()));
    for (uint32_t round = 0; round < rounds(); ++round) {
        total += aligned(bytes(round, own_block(round)));
        if (has_other_block(round)) total += aligned(bytes(round, other_block(round)));
    }
    char *memory = scratch.take(total + longest);
    const auto take = [&](std::size_t bytes) { return std::exchange(memory, memory + aligned(bytes)); };
    for (uint32_t round = 0; round < rounds(); ++round) {
        memory_[round].own = take(bytes(round, own_block(round)));
        if (has_other_block(round)) memory_[round].other = take(bytes(round, other_block(round)));
    }
    result_ = memory;
}

void Doubling::write_partials() {
    const reduce::FloatEnvironment environment;
    char *to = memory_[0].own;
    for (const ReduceRow &row : rows_) {
        for (uint32_t i = 0; i < row.partial_count(); ++i) {
            row.partial(i, 0, row.elements(), to);
            to += row.elements() * row.partial_size();
        }
    }
}

char *Doubling::room(uint32_t round, uint64_t come) {
    const uint64_t due = bytes(round, other_block(round));
    if (come != due)
        throw bad_message(link().rank(part(round).from),
                          text("an operation with a payload of ", come, " bytes instead of ", due));
    return memory_[round].other;
}

/// Makes the partials of the next round, or the result, from those of this round, and gives them away.
void Doubling::join(uint32_t round) {
    const reduce::FloatEnvironment environment;
    const reduce::Cut &cut = plan().cut(round);
    const uint32_t next = round + 1;
    const char *own = memory_[round].own;
    const char *other = memory_[round].other;
    char *to = next < rounds() ? memory_[next].own : nullptr;
    for (const ReduceRow &row : rows_) {
        point_to_block(cut, own_block(round), row, own);
        if (other != nullptr) point_to_block(cut, other_block(round), row, other);
        if (to == nullptr) {
            void *const room = row.room(0, row.elements(), result_);
            reduce::combine_partials(row.operation(), cut, partials_.data(), &room, 1, row.elements());
            row.take(0, row.elements(), room);
            continue;
        }
        const reduce::Cut &coarse = plan().cut(next);
        const uint32_t block = own_block(next);
        for (uint32_t i = coarse.first(block); i < coarse.first(block) + coarse.count(block); ++i) {
            reduce::merge_partials(row.operation(), cut, coarse, i, partials_.data(), to, row.elements());
            to += row.elements() * reduce::partial_size(row.dtype(), coarse);
        }
    }
    if (next < rounds()) give_own(next);
}

/// Points partials_ at a block's partials of a row. `from` is where they begin; it is moved on to the next row's.
void Doubling::point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from) {
    for (uint32_t i = cut.first(block); i < cut.first(block) + cut.count(block); ++i) {
        partials_[i] = from;
        from += row.elements() * reduce::partial_size(row.dtype(), cut);
    }
}

} // namespace mdist
