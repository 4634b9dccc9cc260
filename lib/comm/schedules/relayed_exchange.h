// SPDX-License-Identifier: Apache-2.0
// RelayedExchange: every worker gives every other its operation header and a small payload, as in a SmallExchange, but
// by relays: blocks of workers join (join_rounds.h). So it takes log2(n) trips of one message, where a
// SmallExchange takes one trip of n - 1. The bytes are as many.
//
// A message holds the payloads of a block of workers: the length of each, then the bytes of all, each at a multiple of
// 8 bytes.
#pragma once

#include "comm/schedules/join_rounds.h"
#include "comm/schedules/scratch.h"
#include "comm/schedules/small_exchange.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class RelayedExchange final : public JoinRounds {
    using Length = uint64_t;

  public:
    static constexpr std::size_t kAlignment = sizeof(Length);

    /// The largest message: with more bytes, fewer messages do not pay for relaying (docs/performance/sockets.md).
    static constexpr std::size_t kMessageLimit = 73728;
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
    static constexpr uint32_t kEveryone = UINT32_MAX;

    /// `plan` joins two by two. `payload` has at most most() bytes, which may differ between workers. If all know that
    /// only one of them has any, `giver` names it, and it has most_of_one() at most. The payload must outlive this.
    /// What the others give lies in `scratch`.
    RelayedExchange(Link &link, const OperationHeader &mine, const JoinPlan &plan, const SmallExchange::Bytes &payload,
                    uint32_t giver, Scratch &scratch);

    /// A worker's payload, when done. For this worker, it is the payload given to the constructor.
    const void *payload(uint32_t worker) const { return payloads_[worker].data; }
    std::size_t payload_bytes(uint32_t worker) const { return payloads_[worker].bytes; }

  private:
    struct Block {
        char *data = nullptr;
        std::size_t bytes = 0;
    };

    Message message(uint32_t round, uint32_t) const override { return {own_[round].data, own_[round].bytes}; }
    char *room(uint32_t round, uint32_t index, uint64_t bytes) override;
    void join(uint32_t round) override;
    void lay_out(Scratch &scratch);
    std::size_t most_bytes(uint32_t round, uint32_t block) const;
    void write_block(uint32_t round);
    void read_block(uint32_t round, uint32_t index);

    const uint32_t giver_;
    std::vector<SmallExchange::Bytes> payloads_; // by worker
    std::vector<Block> own_;                     // by round: the own block's message, if it is given
    std::vector<Block> others_;                  // by number: those that come
};

} // namespace mdist
