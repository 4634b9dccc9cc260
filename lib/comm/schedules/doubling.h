// SPDX-License-Identifier: Apache-2.0
// Doubling: all-reduces small data by recursive doubling along the canonical tree (doubling_rounds.h).
//
// Each worker has the partials of its whole block. It gives them to a worker of the other block, and merges the
// partials it gets from there with its own. The merged partials are nodes of the tree, or a few nodes if the number of
// replicas is not a power of two. So the bits are those of any other layout. After the last round every worker combines
// the two halves into the result.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/schedules/doubling_rounds.h"
#include "comm/schedules/scratch.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class Doubling final : public DoublingRounds {
  public:
    /// `rows` are the rows of one call, one per dtype, made with plan.cut(0).
    Doubling(Link &link, const OperationHeader &mine, const DoublingPlan &plan, const std::vector<ReduceRow> &rows,
             Scratch &scratch);

  private:
    struct Memory {
        char *own = nullptr;   // the own block's partials: row after row, partial after partial
        char *other = nullptr; // the other block's
    };

    std::size_t bytes(uint32_t round, uint32_t block) const;
    void lay_out(Scratch &scratch);
    void write_partials();
    char *room(uint32_t round, uint64_t come) override;
    void join(uint32_t round) override;
    void give_own(uint32_t round) { give(round, memory_[round].own, bytes(round, own_block(round))); }
    void point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from);

    const std::vector<ReduceRow> &rows_;
    std::vector<Memory> memory_;         // by round
    char *result_ = nullptr;             // results of a row
    std::vector<const void *> partials_; // by subtree of a round's cut
};

} // namespace mdist
