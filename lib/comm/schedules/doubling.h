// SPDX-License-Identifier: Apache-2.0
// Doubling: all-reduces small data by recursive doubling along the canonical tree (doubling_rounds.h).
//
// Whoever speaks for a block of workers has the partials of all of it. It gives them to a worker that speaks for
// another block, and merges the partials it gets from there with its own. The merged partials are nodes of the tree, or
// a few nodes if the number of replicas is not a power of two. So the bits are those of any other layout. After the
// last joining, whoever speaks combines what is left into the result. Mates that do not speak get that.
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
    std::size_t bytes(uint32_t round, uint32_t block) const;
    bool gives_results() const { return plan().rounds() > plan().joins(); }
    void lay_out(Scratch &scratch);
    void write_partials();
    char *room(uint32_t round, uint32_t index, uint64_t come) override;
    void join(uint32_t round) override;
    void merge(uint32_t round);
    void combine(uint32_t round);
    void take_results();
    void point_to_row(uint32_t round, const ReduceRow &row);
    void point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from);

    const std::vector<ReduceRow> &rows_;
    // Partials lie row after row, partial after partial.
    std::vector<char *> own_;    // by round: the own block's partials
    std::vector<char *> others_; // by number: those that come
    std::size_t result_bytes_ = 0;
    char *results_ = nullptr;               // row after row if mates get them, else those of one row
    const char *own_next_ = nullptr;        // what point_to_row() points at next
    std::vector<const char *> others_next_; // by index of a round
    std::vector<const void *> partials_;    // by subtree of a round's cut
};

} // namespace mdist
