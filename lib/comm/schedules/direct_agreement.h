// SPDX-License-Identifier: Apache-2.0
// DirectAgreement: every worker gives every other its operation header, followed by a small payload. It takes one trip.
//
// Alone it is a barrier. A peer's payload is received only after its header was found to be of the same operation. What
// a schedule sends behind the payload, before this is done, stays in the link until then.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/schedules/call_agreement.h"
#include "comm/schedules/headed.h"

#include <memory>
#include <vector>

namespace mdist {

class DirectAgreement final : public CallAgreement {
  public:
    /// `payload` is the same for all peers, and must outlive this. The payload bytes of `mine` are ignored. Nothing
    /// else may be under way on the link. `peers` are the workers that this one exchanges headers with, in ascending
    /// order from the next one on; empty: all. Then whoever finishes the operation must have heard of the others
    /// through these.
    DirectAgreement(Link &link, const OperationHeader &mine, const Link::Message &payload,
                    const std::vector<uint32_t> &peers = {});

    /// Throws MISMATCH if a peer is in another operation.
    bool advance() override;
    const OperationHeader *header_of(uint32_t worker) const override;
    bool hears_all() const override { return peers_.size() + 1 == link_.parties(); }
    Link::Message payload(uint32_t worker) const override;

  private:
    struct Peer {
        uint32_t worker;
        HeadedArrival message = {};
        std::unique_ptr<char[]> payload = nullptr;
    };

    const Peer *find(uint32_t worker) const;
    bool accept(Peer &peer);

    Link &link_;
    const OperationHeader mine_;
    const Link::Message own_;
    std::vector<Peer> peers_; // from the next worker on, so that not all send to worker 0 first
    Pending pending_;         // everything but the headers
};

} // namespace mdist
