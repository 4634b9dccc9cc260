// SPDX-License-Identifier: Apache-2.0
// HalvingSum: a reduce-scatter by recursive halving, among a power of two of workers. Blocks of workers join two by two
// (join_rounds.h). Of two workers that join, each gives what its block has of the parts that the other goes on with, so
// what a worker holds halves in each round. It takes log2(n) trips of one message, where giving everybody their part
// takes one trip of n - 1. The bytes are as many.
//
//     part of worker    0  1  2  3
//     worker 0 holds    x  x  x  x  of worker 0; gives 1 and 3 to worker 1
//                       x     x     of workers 0 and 1; gives 2 to worker 2
//                       x           of all workers
//
// The merged partials are nodes of the canonical tree, or a few nodes, so the bits are those of any other layout.
//
// A worker must know the parts' lengths before the others tell them, from an earlier call. The tables in which the
// workers tell their lengths go along with the partials. A worker that finds other lengths gives only tables from then
// on. So at the end all workers have all tables, and agree about whether the partials are of use.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/schedules/join_rounds.h"
#include "comm/schedules/peer_stream.h"
#include "comm/schedules/scratch.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mdist {

class HalvingSum final : public JoinRounds {
  public:
    using Tables = std::vector<std::vector<char>>; // by worker

    /// Whether workers can halve what they hold in every round. `plan` joins them two by two.
    static bool fits(const JoinPlan &plan, uint32_t workers) {
        return std::has_single_bit(workers) && !plan.by_hosts();
    }

    /// `plan` fits. `rows` scatter, with the lengths that the tables `expected` tell. `own` is this worker's table,
    /// which is as long as the expected one. All arguments but `mine` and `own` must outlive this.
    HalvingSum(Link &link, const OperationHeader &mine, const JoinPlan &plan, const std::vector<ReduceRow> &rows,
               const Tables &expected, const std::vector<char> &own, Scratch &scratch);

    // When done:

    /// What all workers have told.
    const Tables &tables() const { return tables_; }
    /// Whether that is what was expected. The same on all workers.
    bool as_expected() const { return as_expected_; }
    /// Sums this worker's part to the outputs, if all is as expected. Call it once.
    void finish();

  private:
    /// What a worker's part has of a row. `own` is where the partials of the own block are, one after another.
    struct Stretch {
        const ReduceRow *row;
        Range range;
        const char *own;
    };
    using Stretches = std::span<Stretch>;

    void cut_into_stretches();
    Stretches stretches(uint32_t round, uint32_t worker);
    std::size_t bytes(const Stretch &stretch, uint32_t round, uint32_t block) const;
    std::size_t bytes(Stretches stretches, uint32_t round, uint32_t block) const;
    std::size_t table_bytes(uint32_t round, uint32_t block) const;
    void lay_out(Scratch &scratch);
    void begin();
    void write_tables(uint32_t round);
    void read_tables(uint32_t round);
    Message message(uint32_t round, uint32_t) const override;
    char *room(uint32_t round, uint32_t, uint64_t come) override;
    void join(uint32_t round) override;
    void merge(uint32_t round);
    void point_to_partials(uint32_t round, const Stretch &stretch);

    /// The messages of a round, both with tables in front, and the own block's partials that are not given.
    struct Messages {
        char *given, *come, *kept;
        std::size_t given_tables, given_all, come_tables, come_all;
    };

    const std::vector<ReduceRow> &rows_;
    const Tables &expected_;
    Tables tables_;
    bool as_expected_;
    std::vector<Stretch> stretches_;  // row after row of worker after worker, these in the order of their reversed bits
    std::vector<Messages> messages_;  // by round
    char *results_ = nullptr;         // room to make one row's in
    const char *come_next_ = nullptr; // what point_to_partials() points at next
    std::vector<const void *> partials_; // by subtree of a round's cut
};

} // namespace mdist
