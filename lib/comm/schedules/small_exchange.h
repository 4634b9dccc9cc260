// SPDX-License-Identifier: Apache-2.0
// SmallExchange: every worker gives every other its operation header, followed by a small payload. It takes one trip.
//
// Alone it is a barrier, and the check that all workers call the same. With payloads it is enough to exchange a table
// of lengths. A peer's payload is received only after its header was found to be of the same operation.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/links/link.h"
#include "comm/schedules/headed.h"
#include "comm/schedules/schedule.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace mdist {

class SmallExchange final : public Schedule {
  public:
    /// The largest payload. No peer can make this worker allocate more.
    static constexpr std::size_t kPayloadLimit = 65536;

    /// `payload` has mine.payload_bytes bytes, which may differ between workers. Nothing else may be under way on the
    /// link.
    SmallExchange(Link &link, const OperationHeader &mine, const void *payload);

    /// Throws MISMATCH if a peer is in another operation.
    bool advance() override;

    /// A worker's payload, when done. For this worker, it is the payload given to the constructor.
    const void *payload(uint32_t worker) const;
    std::size_t payload_bytes(uint32_t worker) const;

    /// Whether a worker's header has arrived.
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
    std::vector<Peer> peers_; // by rank; the one for this worker is not used
    Pending pending_;         // everything but the headers
};

} // namespace mdist
