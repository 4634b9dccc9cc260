// SPDX-License-Identifier: Apache-2.0
// All-reduce of small data by recursive doubling along the canonical tree: log2(n) trips, in each of which a worker
// gives and takes one message, where all to all is one trip of n - 1 messages.
//
// A round joins blocks of workers two by two (doubling_plan.h). Each worker has the partials of its whole block, gives
// them to one of the other block, and merges what it gets from there with its own to the partials of both: those are
// nodes of the tree, or a few of them where replicas are no power of two, so the bits are those of any other layout.
// After the last round everybody combines the two halves to the result.
//
// Every message is headed, by which workers that disagree find out although not all of them talk to each other:
//   Who gives anything in round k has found everybody of its block in the same operation. (It has taken its partner's
//   header in each round before, and that partner had done likewise.) So who is done knows that of all.
//   Where workers disagree there is a lowest joining of two blocks that are in different operations, each of one mind.
//   Workers that are in a doubling get to that round, and look at what came only after they have given their own;
//   others tell everybody anyway. So the first worker of either block gets the other's header, and both fail, with
//   words that name both sides. The membership tells everybody else.
#pragma once

#include "comm/flat.h"
#include "comm/links/link.h"
#include "comm/operation_header.h"
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
    /// `rows` are those of one call, one per dtype, with plan.cut(0); the payload bytes of `mine` are not looked at.
    /// Nothing else may be under way on the link.
    Doubling(Link &link, const OperationHeader &mine, const DoublingPlan &plan, const std::vector<Flat> &rows,
             Scratch &scratch);

    /// Throws MISMATCH where a peer is in another operation.
    bool advance() override;

    /// Whether a worker is known to be in this operation.
    bool has_come(uint32_t worker) const;

  private:
    struct Round {
        DoublingPlan::Part part;
        OperationHeader mine;  // of what is given
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
    void point_to_block(const reduce::Cut &cut, uint32_t block, const Flat &row, const char *&from);

    Link &link_;
    const DoublingPlan &plan_;
    const std::vector<Flat> &rows_;
    std::vector<Round> rounds_;
    uint32_t joined_ = 0;                // rounds that are
    Pending sent_;                       // all that was given
    char *result_ = nullptr;             // of a row
    std::vector<const void *> partials_; // by subtree of a round's cut
};

} // namespace mdist
