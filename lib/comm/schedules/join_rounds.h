// SPDX-License-Identifier: Apache-2.0
// JoinRounds: the messages of an agreement in which blocks of workers join two by two (join_plan.h). It takes log2(n)
// trips, and in each a worker usually gives and takes one message. What the messages hold, and what joining means, is
// up to the class that derives from this.
//
// Every message begins with an operation header. So workers that disagree find out, although not all of them talk to
// each other:
//   A worker that gives anything in round k knows that its whole block is in the same operation. (It has taken a header
//   of each other part of the block in an earlier round, and who gave that had done the same.) So a worker that is done
//   knows this of all workers.
//   If workers disagree, take the lowest two blocks that join in different operations, where each agrees within itself.
//   Workers whose blocks join reach that round, and look at what arrived only after they have given their own. Workers
//   in an operation of another kind send their header to everybody, or to some, among them all that they would join
//   with (SplitPlan::peers). So a worker of one of the two blocks gets a header of the other, and fails with a message
//   that names both sides. The membership tells everybody else.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/schedules/call_agreement.h"
#include "comm/schedules/headed.h"
#include "comm/schedules/join_plan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class JoinRounds : public CallAgreement {
  public:
    /// Throws MISMATCH if a peer is in another operation.
    bool advance() final;

    /// Who gives a message of this operation speaks for its whole block. One of another operation may speak for itself.
    const OperationHeader *header_of(uint32_t worker) const final;
    bool hears_all() const final { return false; }

  protected:
    /// The payload bytes of `mine` are ignored. Nothing else may be under way on the link.
    JoinRounds(Link &link, const OperationHeader &mine, const JoinPlan &plan);

    using Message = Link::Message;

    /// Gives the first round's messages, and listens. Called once, by the constructor.
    void start();
    /// Gives a round's messages to whoever gets them.
    void give(uint32_t round);

    /// The message that the index-th taker gets in a round: part().to[index]. It must stay in place, and has at most
    /// UINT32_MAX bytes.
    virtual Message message(uint32_t round, uint32_t index) const = 0;

    /// Where the index-th message of a round belongs, which has `bytes` bytes: that of part().from[index]. Throws if it
    /// should have others.
    virtual char *room(uint32_t round, uint32_t index, uint64_t bytes) = 0;
    /// All messages of a round are here, if there are any. Gives the next round's messages, if there are any.
    virtual void join(uint32_t round) = 0;

    Link &link() const { return link_; }
    const JoinPlan &plan() const { return plan_; }
    const JoinPlan::Part &part(uint32_t round) const { return rounds_[round].part; }
    /// This worker's block, and that of the index-th message, before a round.
    uint32_t own_block(uint32_t round) const { return plan_.block(round, link_.self()); }
    uint32_t other_block(uint32_t round, uint32_t index) const { return plan_.block(round, part(round).from[index]); }
    bool gives(uint32_t round) const { return part(round).to.count != 0; }
    bool speaks(uint32_t round) const { return plan_.speaks(round, link_.self()); }
    uint32_t rounds() const { return plan_.rounds(); }
    /// How many messages this worker takes, and the number of one of them among these.
    std::size_t messages() const { return messages_.size(); }
    std::size_t number(uint32_t round, uint32_t index) const {
        return static_cast<std::size_t>(rounds_[round].messages - messages_.data()) + index;
    }

  private:
    struct Round {
        JoinPlan::Part part;
        OperationHeader *headers; // of what this worker gives, to part.to
        HeadedArrival *messages;  // those from part.from
        Pending payloads;
    };

    void listen(uint32_t round);
    bool step();
    bool accept(uint32_t round);
    bool arrived(uint32_t round) const;

    Link &link_;
    const OperationHeader mine_;
    const JoinPlan &plan_;
    std::vector<Round> rounds_;
    std::vector<OperationHeader> headers_; // by round
    std::vector<HeadedArrival> messages_;  // by round
    uint32_t joined_ = 0;                  // rounds joined so far
    Pending sent_;                         // everything given so far
};

} // namespace mdist
