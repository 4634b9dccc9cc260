// SPDX-License-Identifier: Apache-2.0
// Headed messages: an operation header followed by a payload. Between two workers this is the first message of every
// operation, unless they already know through others that all are in it (join_rounds.h). So a worker can read the
// header of a peer in another operation, and refuse it with a clear message.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/links/link.h"

#include <cstdint>

namespace mdist {

/// Sends a header and its payload (header.payload_bytes). Both must stay in place until `pending` has counted them off.
void send_headed(Link &link, uint32_t worker, const OperationHeader &header, const void *payload, Pending &pending);

/// One incoming headed message. After begin() it must not be moved.
class HeadedArrival {
  public:
    void begin(Link &link, uint32_t worker);

    /// Whether the header has arrived.
    bool has_come() const { return worker_ != kNobody && header_here_.done(); }
    /// nullptr before that.
    const OperationHeader *header() const { return has_come() ? &header_ : nullptr; }
    /// Throws MISMATCH unless the message belongs to the same operation as `mine`. Call it when the header has arrived.
    void check(const OperationHeader &mine) const {
        check_same(mine, link_->rank(link_->self()), header_, link_->rank(worker_));
    }
    uint64_t payload_bytes() const { return header_.payload_bytes; }
    /// Receives the payload, if there is one, and returns whether there is. Call it after check().
    bool take_payload(Link &link, void *to, Pending &pending);
    bool taken() const { return taken_; }

  private:
    static constexpr uint32_t kNobody = UINT32_MAX;

    uint32_t worker_ = kNobody;
    const Link *link_ = nullptr;
    OperationHeader header_;
    Pending header_here_;
    bool taken_ = false;
};

} // namespace mdist
