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
    : link_(link), plan_(plan), rows_(rows), rounds_(plan.rounds()), partials_(plan.cut(0).subtrees().size()) {
    lay_out(scratch);
    begin(mine);
}

/// The size of a block's partials.
std::size_t Doubling::bytes(uint32_t round, uint32_t block) const {
    const reduce::Cut &cut = plan_.cut(round);
    std::size_t bytes = 0;
    for (const ReduceRow &row : rows_) bytes += row.elements() * reduce::partial_size(row.dtype(), cut);
    return bytes * cut.count(block);
}

void Doubling::lay_out(Scratch &scratch) {
    constexpr std::size_t kAlignment = 64;
    const auto aligned = [](std::size_t bytes) { return round_up(bytes, kAlignment); };
    std::size_t total = 0, longest = 0;
    for (const ReduceRow &row : rows_) longest = std::max(longest, row.elements() * dtype_size(row.dtype()));
    for (uint32_t round = 0; round < rounds_.size(); ++round) {
        const DoublingPlan::Part part = rounds_[round].part = plan_.part(round, link_.self());
        total += aligned(bytes(round, own_block(round)));
        if (part.from != DoublingPlan::kNobody) total += aligned(bytes(round, own_block(round) ^ 1));
    }
    char *memory = scratch.take(total + longest);
    const auto take = [&](std::size_t bytes) { return std::exchange(memory, memory + aligned(bytes)); };
    for (uint32_t round = 0; round < rounds_.size(); ++round) {
        rounds_[round].own = take(bytes(round, own_block(round)));
        if (rounds_[round].part.from != DoublingPlan::kNobody)
            rounds_[round].other = take(bytes(round, own_block(round) ^ 1));
    }
    result_ = memory;
}

void Doubling::begin(const OperationHeader &mine) {
    for (uint32_t round = 0; round < rounds_.size(); ++round) {
        Round &own = rounds_[round];
        own.mine = mine;
        own.mine.payload_bytes = static_cast<uint32_t>(bytes(round, own_block(round)));
    }
    write_partials();
    give(0);
    for (Round &round : rounds_)
        if (round.part.from != DoublingPlan::kNobody) round.message.begin(link_, round.part.from);
}

void Doubling::write_partials() {
    const reduce::FloatEnvironment environment;
    char *to = rounds_[0].own;
    for (const ReduceRow &row : rows_) {
        for (uint32_t i = 0; i < row.partial_count(); ++i) {
            row.partial(i, 0, row.elements(), to);
            to += row.elements() * row.partial_size();
        }
    }
}

bool Doubling::advance() {
    do link_.progress();
    while (step());
    return joined_ == rounds_.size() && sent_.done();
}

/// Does what can be done now. Returns whether it posted something. It goes round by round: it looks at an early message
/// only after this worker has given its own. So if two workers disagree, neither fails before the other can find out.
bool Doubling::step() {
    bool posted = false;
    for (; joined_ < rounds_.size(); posted = true) {
        posted |= accept(joined_);
        if (!rounds_[joined_].arrived()) break;
        join(joined_++);
    }
    return posted;
}

/// Checks the header of a round's message. Returns whether its payload is now being received.
bool Doubling::accept(uint32_t round) {
    Round &own = rounds_[round];
    if (own.message.taken() || !own.message.has_come()) return false;
    own.message.check(own.mine);
    const uint64_t due = bytes(round, own_block(round) ^ 1);
    if (own.message.payload_bytes() != due)
        throw bad_message(link_.rank(own.part.from), text("an operation with a payload of ",
                                                          own.message.payload_bytes(), " bytes instead of ", due));
    return own.message.take_payload(link_, own.other, own.payload);
}

/// Makes the partials of the next round, or the result, from those of this round, and gives them away.
void Doubling::join(uint32_t round) {
    const reduce::FloatEnvironment environment;
    const reduce::Cut &cut = plan_.cut(round);
    const uint32_t next = round + 1;
    const char *own = rounds_[round].own;
    const char *other = rounds_[round].other;
    char *to = next < rounds_.size() ? rounds_[next].own : nullptr;
    for (const ReduceRow &row : rows_) {
        point_to_block(cut, own_block(round), row, own);
        if (other != nullptr) point_to_block(cut, own_block(round) ^ 1, row, other);
        if (to == nullptr) {
            void *const room = row.room(0, row.elements(), result_);
            reduce::combine_partials(row.operation(), cut, partials_.data(), &room, 1, row.elements());
            row.take(0, row.elements(), room);
            continue;
        }
        const reduce::Cut &coarse = plan_.cut(next);
        const uint32_t block = own_block(next);
        for (uint32_t i = coarse.first(block); i < coarse.first(block) + coarse.count(block); ++i) {
            reduce::merge_partials(row.operation(), cut, coarse, i, partials_.data(), to, row.elements());
            to += row.elements() * reduce::partial_size(row.dtype(), coarse);
        }
    }
    if (next < rounds_.size()) give(next);
}

/// Points partials_ at a block's partials of a row. `from` is where they begin; it is moved on to the next row's.
void Doubling::point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from) {
    for (uint32_t i = cut.first(block); i < cut.first(block) + cut.count(block); ++i) {
        partials_[i] = from;
        from += row.elements() * reduce::partial_size(row.dtype(), cut);
    }
}

void Doubling::give(uint32_t round) {
    const Round &own = rounds_[round];
    for (uint32_t to = own.part.to_begin; to < own.part.to_end; to += own.part.to_step)
        send_headed(link_, to, own.mine, own.own, sent_);
}

bool Doubling::has_come(uint32_t worker) const {
    if (worker == link_.self()) return true;
    for (uint32_t round = 0; round < rounds_.size(); ++round)
        if (DoublingPlan::block(round, worker) == (own_block(round) ^ 1)) return rounds_[round].message.has_come();
    return false;
}

} // namespace mdist
