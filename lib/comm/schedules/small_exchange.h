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

    struct Bytes {
        const void *data = nullptr;
        std::size_t bytes = 0;
    };
    /// What a worker gets. `behind` are messages that follow the payload at once, of any size. The worker receives them
    /// when this exchange is over and it knows where to.
    struct Package {
        Bytes payload = {};
        std::vector<Bytes> behind = {};
    };
    /// The same with a package of its own for each worker, by worker. The payload for this worker is what payload()
    /// returns. `mine.payload_bytes` is ignored. `behind` counts the messages behind: this exchange does not wait for
    /// them. They have the tag `tag`.
    SmallExchange(Link &link, const OperationHeader &mine, const std::vector<Package> &packages, uint64_t tag,
                  Pending &behind);

    /// Throws MISMATCH if a peer is in another operation.
    bool advance() override;

    /// A worker's payload, when done. For this worker, it is the payload given to the constructor.
    const void *payload(uint32_t worker) const;
    std::size_t payload_bytes(uint32_t worker) const;

    /// Whether a worker's header has arrived.
    bool has_come(uint32_t worker) const { return worker == link_.self() || peers_[worker].message.has_come(); }

  private:
    struct Peer {
        OperationHeader mine; // goes to the peer
        HeadedArrival message;
        std::unique_ptr<char[]> payload;
    };

    void begin(uint32_t worker, const Bytes &payload);
    bool accept(uint32_t worker);

    Link &link_;
    const OperationHeader mine_;
    const Bytes own_;
    std::vector<Peer> peers_; // by rank; the one for this worker is not used
    Pending pending_;         // everything but the headers
};

} // namespace mdist
