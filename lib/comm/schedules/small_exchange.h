// SPDX-License-Identifier: Apache-2.0
// Small exchange: every worker gives every other its operation header, with a small payload behind it. One trip.
//
// By itself it is a barrier, and what finds out that workers disagree; with payloads it is all that a table of lengths
// needs. A peer's payload is taken only when its header was found to be of the same operation.
#pragma once

#include "comm/links/link.h"
#include "comm/operation_header.h"
#include "comm/schedules/headed.h"
#include "comm/schedules/schedule.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace mdist {

class SmallExchange final : public Schedule {
  public:
    /// The largest payload. No peer makes us size memory for more.
    static constexpr std::size_t kPayloadLimit = 65536;

    /// `payload` has mine.payload_bytes, which may be another number on each worker. Nothing else may be under way
    /// on the link.
    SmallExchange(Link &link, const OperationHeader &mine, const void *payload);

    /// Throws MISMATCH where a peer is in another operation.
    bool advance() override;

    /// When done; this worker's own are what was given.
    const void *payload(uint32_t worker) const;
    std::size_t payload_bytes(uint32_t worker) const;

    /// Whether a worker's header is here.
    bool has_come(uint32_t worker) const { return worker == link_.self() || peers_[worker].message.has_come(); }

  private:
    struct Peer {
        HeadedArrival message;
        std::unique_ptr<char[]> payload;
    };

    bool accept(uint32_t worker);

    Link &link_;
    const OperationHeader mine_;
    const void *own_payload_;
    std::vector<Peer> peers_; // by rank, with an idle one for oneself
    Pending pending_;         // all but the headers
};

} // namespace mdist
