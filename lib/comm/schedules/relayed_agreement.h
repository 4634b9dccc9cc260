// SPDX-License-Identifier: Apache-2.0
// RelayedAgreement: every worker gives every other its operation header and a small payload by relays: blocks of
// workers join (join_rounds.h). The bytes are as many as in a DirectAgreement.
//
// A message holds the payloads of a block of workers, one after another: the length of each, then its bytes, filled up
// to a multiple of 8. So what two blocks have together is their messages, end to end. A block's message is received
// beside that of the own block, and both are given from there.
#pragma once

#include "comm/schedules/join_rounds.h"
#include "comm/schedules/scratch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class RelayedAgreement final : public JoinRounds {
    using Length = uint64_t;

  public:
    static constexpr std::size_t kAlignment = sizeof(Length);

    /// The largest message. No peer can make this worker allocate more.
    static constexpr std::size_t kMessageLimit = 589824;
    /// The largest payload of a worker.
    static std::size_t most(uint32_t workers) {
        const std::size_t each = kMessageLimit / workers / kAlignment * kAlignment;
        return std::max(each, sizeof(Length)) - sizeof(Length);
    }

    /// The same if only one worker has a payload.
    static std::size_t most_of_one(uint32_t workers) {
        const std::size_t lengths = workers * sizeof(Length);
        return kMessageLimit - std::min(lengths, kMessageLimit);
    }
    static constexpr uint32_t kEveryone = UINT32_MAX, kNobody = UINT32_MAX - 1;

    /// `payload` has at most most() bytes, which may differ between workers. If all know that
    /// only one of them has any, or nobody, `giver` names it, and it has most_of_one() at most. The payload must
    /// outlive this. What the others give lies in `scratch`.
    RelayedAgreement(Link &link, const OperationHeader &mine, const JoinPlan &plan, const Link::Message &payload,
                     uint32_t giver, Scratch &scratch);

    Link::Message payload(uint32_t worker) const override { return payloads_[worker]; }

  private:
    Message message(uint32_t, uint32_t) const override { return {begin_, static_cast<std::size_t>(end_ - begin_)}; }
    char *room(uint32_t round, uint32_t index, uint64_t bytes) override;
    void join(uint32_t round) override;
    std::size_t most_bytes(uint32_t begin, uint32_t end) const;
    char *place(uint32_t round, uint32_t index) const;
    void read(uint32_t round, uint32_t index, const char *from);

    const uint32_t giver_;
    std::vector<Link::Message> payloads_; // by worker
    std::vector<std::size_t> come_;       // by number: the bytes of another block's message
    char *memory_;                        // has room for the message of all workers
    char *begin_, *end_;                  // the own block's message
};

} // namespace mdist
