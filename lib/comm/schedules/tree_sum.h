// SPDX-License-Identifier: Apache-2.0
// TreeSum: sums small data along the canonical tree, by joining blocks of workers two by two (join_rounds.h).
//
// Whoever speaks for a block of workers has the partials of all of it. It gives them to a worker that speaks for
// another block, and merges the partials it gets from there with its own. The merged partials are nodes of the tree, or
// a few nodes if the number of replicas is not a power of two. So the bits are those of any other layout. After the
// last joining, whoever speaks combines what is left into the result. Mates that do not speak get that. All have the
// whole result in the end, and a row that scatters takes its part of it.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/schedules/join_rounds.h"
#include "comm/schedules/scratch.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class TreeSum final : public JoinRounds {
  public:
    /// `rows` are the rows of one call, made with plan.cut(0).
    TreeSum(Link &link, const OperationHeader &mine, const JoinPlan &plan, const std::vector<ReduceRow> &rows,
            Scratch &scratch);

  private:
    std::size_t bytes(uint32_t round, uint32_t block) const;
    std::size_t result_bytes() const;
    std::size_t incoming_bytes(uint32_t round, uint32_t index) const;
    void lay_out(Scratch &scratch);
    void write_partials();
    Message message(uint32_t round, uint32_t) const override;
    char *room(uint32_t round, uint32_t index, uint64_t come) override;
    void join(uint32_t round) override;
    void merge(uint32_t round);
    void combine(uint32_t round);
    void take_results();
    void begin_pointing(uint32_t round);
    void point_to_partials(uint32_t round, const ReduceRow &row);
    void point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from);

    const std::vector<ReduceRow> &rows_;
    // Partials lie row after row, partial after partial; results, row after row.
    std::vector<char *> own_;               // by round: the own block's partials
    std::vector<char *> others_;            // by number: those that come
    char *results_ = nullptr;               // if mates do not get them, room to make them in
    const char *own_next_ = nullptr;        // what point_to_partials() points at next
    std::vector<const char *> others_next_; // by index of a round
    std::vector<const void *> partials_;    // by subtree of a round's cut
};

} // namespace mdist
