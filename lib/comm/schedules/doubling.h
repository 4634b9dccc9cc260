// SPDX-License-Identifier: Apache-2.0
// Doubling: all-reduces small data by recursive doubling along the canonical tree. It takes log2(n) trips, and in each
// a worker usually gives and takes one message. Sending everything to everybody would take one trip of n - 1 messages.
//
// A round joins blocks of workers two by two (doubling_plan.h). Each worker has the partials of its whole block. It
// gives them to a worker of the other block, and merges the partials it gets from there with its own. The merged
// partials are nodes of the tree, or a few nodes if the number of replicas is not a power of two. So the bits are those
// of any other layout. After the last round every worker combines the two halves into the result.
//
// Every message begins with an operation header. So workers that disagree find out, although not all of them talk to
// each other:
//   A worker that gives anything in round k knows that its whole block is in the same operation. (It has taken its
//   partner's header in each earlier round, and that partner had done the same.) So a worker that is done knows this of
//   all workers.
//   If workers disagree, there is a lowest joining of two blocks in different operations, where each block agrees
//   within itself. Workers that are in a doubling reach that round, and look at what arrived only after they have given
//   their own. Workers in another kind of operation send their header to everybody anyway. So the first worker of each
//   block gets the other block's header, and both fail with messages that name both sides. The membership tells
//   everybody else.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/call/reduce_row.h"
#include "comm/links/link.h"
#include "comm/schedules/doubling_plan.h"
#include "comm/schedules/headed.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/scratch.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class Doubling final : public Schedule {
  public:
    /// `rows` are the rows of one call, one per dtype, made with plan.cut(0). The payload bytes of `mine` are ignored.
    /// Nothing else may be under way on the link.
    Doubling(Link &link, const OperationHeader &mine, const DoublingPlan &plan, const std::vector<ReduceRow> &rows,
             Scratch &scratch);

    /// Throws MISMATCH if a peer is in another operation.
    bool advance() override;

    /// Whether a worker is known to be in this operation.
    bool has_come(uint32_t worker) const;

  private:
    struct Round {
        DoublingPlan::Part part;
        OperationHeader mine;  // goes with what this worker gives
        char *own = nullptr;   // the own block's partials: row after row, partial after partial
        char *other = nullptr; // the other block's
        HeadedArrival message;
        Pending payload;

        bool arrived() const { return part.from == DoublingPlan::kNobody || (message.taken() && payload.done()); }
    };

    std::size_t bytes(uint32_t round, uint32_t block) const;
    uint32_t own_block(uint32_t round) const { return DoublingPlan::block(round, link_.self()); }
    void lay_out(Scratch &scratch);
    void begin(const OperationHeader &mine);
    void write_partials();
    bool step();
    bool accept(uint32_t round);
    void join(uint32_t round);
    void give(uint32_t round);
    void point_to_block(const reduce::Cut &cut, uint32_t block, const ReduceRow &row, const char *&from);

    Link &link_;
    const DoublingPlan &plan_;
    const std::vector<ReduceRow> &rows_;
    std::vector<Round> rounds_;
    uint32_t joined_ = 0;                // rounds joined so far
    Pending sent_;                       // everything given so far
    char *result_ = nullptr;             // results of a row
    std::vector<const void *> partials_; // by subtree of a round's cut
};

} // namespace mdist
