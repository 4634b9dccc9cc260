// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/halving_sum.h"

#include "comm/call/bad_message.h"
#include "reduce/float_environment.h"
#include "util/dtype.h"
#include "util/round_up.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

constexpr std::size_t kAlignment = 8; // of a stretch's partials

} // namespace

HalvingSum::HalvingSum(Link &link, const OperationHeader &mine, const JoinPlan &plan,
                       const std::vector<ReduceRow> &rows, const Tables &expected, const std::vector<char> &own,
                       Scratch &scratch)
    : JoinRounds(link, mine, plan),
      rows_(rows),
      expected_(expected),
      tables_(expected),
      as_expected_(own == expected[link.self()]),
      messages_(plan.rounds()),
      partials_(plan.cut(0).subtrees().size()) {
    tables_[link.self()] = own;
    cut_into_stretches();
    lay_out(scratch);
    begin();
    start();
}

void HalvingSum::cut_into_stretches() {
    const uint32_t workers = link().parties();
    stretches_.reserve(workers * rows_.size());
    for (uint32_t place = 0; place < workers; ++place) {
        uint32_t worker = 0;
        for (uint32_t round = 0; round < rounds(); ++round) worker |= (place >> round & 1) << (rounds() - 1 - round);
        for (const ReduceRow &row : rows_) {
            const uint64_t first = row.part_begin(worker);
            const uint64_t behind = worker + 1 < workers ? row.part_begin(worker + 1) : row.elements();
            stretches_.push_back({&row, {first, behind - first}, nullptr});
        }
    }
}

/// The parts that a worker holds before a round: of all workers that differ from it in later rounds' bits only.
HalvingSum::Stretches HalvingSum::stretches(uint32_t round, uint32_t worker) {
    Stretches held = stretches_;
    for (uint32_t before = 0; before < round; ++before) {
        const std::size_t half = held.size() / 2;
        held = (worker >> before & 1) != 0 ? held.last(half) : held.first(half);
    }
    return held;
}

/// The size of a block's partials of a stretch.
std::size_t HalvingSum::bytes(const Stretch &stretch, uint32_t round, uint32_t block) const {
    const reduce::Cut &cut = plan().cut(round);
    const std::size_t each = stretch.range.count * reduce::partial_size(stretch.row->dtype(), cut);
    return round_up(each * cut.count(block), kAlignment);
}

std::size_t HalvingSum::bytes(Stretches stretches, uint32_t round, uint32_t block) const {
    std::size_t all = 0;
    for (const Stretch &stretch : stretches) all += bytes(stretch, round, block);
    return all;
}

std::size_t HalvingSum::table_bytes(uint32_t round, uint32_t block) const {
    std::size_t all = 0;
    for (uint32_t worker = plan().begin(round, block); worker < plan().end(round, block); ++worker)
        all += expected_[worker].size();
    return all;
}

void HalvingSum::lay_out(Scratch &scratch) {
    const uint32_t self = link().self();
    std::size_t results = 0;
    for (const Stretch &stretch : stretches(rounds(), self))
        results = std::max(results, stretch.range.count * dtype_size(stretch.row->dtype()));
    std::size_t total = results;
    for (uint32_t round = 0; round < rounds(); ++round) {
        Messages &own = messages_[round];
        const uint32_t block = own_block(round), other = other_block(round, 0);
        own.given_tables = table_bytes(round, block);
        own.come_tables = table_bytes(round, other);
        own.given_all = own.given_tables + bytes(stretches(round + 1, part(round).to[0]), round, block);
        own.come_all = own.come_tables + bytes(stretches(round + 1, self), round, other);
        total += own.given_all + own.come_all + bytes(stretches(round + 1, self), round, block);
    }
    char *memory = scratch.take(total);
    for (uint32_t round = 0; round < rounds(); ++round) {
        Messages &own = messages_[round];
        own.given = std::exchange(memory, memory + own.given_all);
        own.come = std::exchange(memory, memory + own.come_all);
        own.kept = std::exchange(memory, memory + bytes(stretches(round + 1, self), round, own_block(round)));
    }
    results_ = memory;
}

/// Makes this worker's partials. What it keeps may stand in the inputs already.
void HalvingSum::begin() {
    write_tables(0);
    if (!as_expected_) return;
    const reduce::FloatEnvironment environment;
    char *to = messages_[0].given + messages_[0].given_tables;
    for (const Stretch &stretch : stretches(1, part(0).to[0])) {
        const auto &[row, range, own] = stretch;
        const std::size_t size = range.count * row->partial_size();
        for (uint32_t i = 0; i < row->partial_count() && range.count != 0; ++i)
            row->partial(i, range.begin, range.count, to + i * size);
        to += bytes(stretch, 0, own_block(0));
    }
    to = messages_[0].kept;
    for (Stretch &stretch : stretches(1, link().self())) {
        const auto &[row, range, own] = stretch;
        if (range.count != 0) stretch.own = static_cast<const char *>(row->partials(range.begin, range.count, to));
        to += bytes(stretch, 0, own_block(0));
    }
}

void HalvingSum::write_tables(uint32_t round) {
    const uint32_t block = own_block(round);
    char *to = messages_[round].given;
    for (uint32_t worker = plan().begin(round, block); worker < plan().end(round, block); ++worker)
        to = std::copy(tables_[worker].begin(), tables_[worker].end(), to);
}

void HalvingSum::read_tables(uint32_t round) {
    const uint32_t block = other_block(round, 0);
    const char *from = messages_[round].come;
    for (uint32_t worker = plan().begin(round, block); worker < plan().end(round, block); ++worker) {
        const std::size_t bytes = tables_[worker].size();
        std::copy_n(from, bytes, tables_[worker].begin());
        from += bytes;
        if (tables_[worker] != expected_[worker]) as_expected_ = false;
    }
}

JoinRounds::Message HalvingSum::message(uint32_t round, uint32_t) const {
    const Messages &own = messages_[round];
    return {own.given, as_expected_ ? own.given_all : own.given_tables};
}

char *HalvingSum::room(uint32_t round, uint32_t, uint64_t come) {
    const Messages &own = messages_[round];
    if (come != own.come_all && come != own.come_tables)
        throw bad_message(
            link().rank(part(round).from[0]),
            text("an operation with a payload of ", come, " bytes instead of ", own.come_all, " or ", own.come_tables));
    if (come != own.come_all) as_expected_ = false;
    return own.come;
}

void HalvingSum::join(uint32_t round) {
    const uint32_t next = round + 1;
    read_tables(round);
    if (next == rounds()) return;
    write_tables(next);
    if (as_expected_) merge(round);
    give(next);
}

/// Makes the partials of the next round from those of this round.
void HalvingSum::merge(uint32_t round) {
    const reduce::FloatEnvironment environment;
    const uint32_t next = round + 1, block = own_block(next);
    const reduce::Cut &cut = plan().cut(round), &coarse = plan().cut(next);
    const Stretches kept = stretches(next + 1, link().self());
    char *kept_to = messages_[next].kept, *given_to = messages_[next].given + messages_[next].given_tables;
    come_next_ = messages_[round].come + messages_[round].come_tables;
    for (Stretch &stretch : stretches(next, link().self())) {
        const bool keeps = &stretch >= kept.data() && &stretch < kept.data() + kept.size();
        point_to_partials(round, stretch);
        char *&to = keeps ? kept_to : given_to;
        char *const first = std::exchange(to, to + bytes(stretch, next, block));
        const auto &[row, range, own] = stretch;
        const std::size_t size = range.count * reduce::partial_size(row->dtype(), coarse);
        for (uint32_t i = 0; i < coarse.count(block) && range.count != 0; ++i)
            reduce::merge_partials(row->operation(), cut, coarse, coarse.first(block) + i, partials_.data(),
                                   first + i * size, range.count);
        stretch.own = first;
    }
}

void HalvingSum::finish() {
    const uint32_t last = rounds() - 1;
    come_next_ = messages_[last].come + messages_[last].come_tables;
    for (const Stretch &stretch : stretches(rounds(), link().self())) {
        const auto &[row, range, own] = stretch;
        point_to_partials(last, stretch);
        if (range.count == 0) continue;
        void *const to = row->room(range.begin, range.count, results_);
        reduce::combine_partials(row->operation(), plan().cut(last), partials_.data(), &to, 1, range.count);
        row->take(range.begin, range.count, to);
    }
}

/// Points partials_ at both blocks' partials of a stretch. The other block's are those behind the last ones.
void HalvingSum::point_to_partials(uint32_t round, const Stretch &stretch) {
    const reduce::Cut &cut = plan().cut(round);
    const std::size_t size = stretch.range.count * reduce::partial_size(stretch.row->dtype(), cut);
    const uint32_t own = own_block(round), other = other_block(round, 0);
    for (uint32_t i = 0; i < cut.count(own); ++i) partials_[cut.first(own) + i] = stretch.own + i * size;
    for (uint32_t i = 0; i < cut.count(other); ++i) partials_[cut.first(other) + i] = come_next_ + i * size;
    come_next_ += bytes(stretch, round, other);
}

} // namespace mdist
