// SPDX-License-Identifier: Apache-2.0
// Headed messages: an operation header with a payload behind it. The first thing that any two workers give each other
// in an operation is one, alike for all operations: so a worker in another one is understood, and refused in words.
#pragma once

#include "comm/links/link.h"
#include "comm/operation_header.h"

#include <cstdint>

namespace mdist {

/// Header and payload (of header.payload_bytes) stay where they are until `pending` has counted them off.
void send_headed(Link &link, uint32_t worker, const OperationHeader &header, const void *payload, Pending &pending);

/// One that comes in. Stays where it is once it was begun.
class HeadedArrival {
  public:
    void begin(Link &link, uint32_t worker);

    /// Whether its header is here.
    bool has_come() const { return worker_ != kNobody && header_here_.done(); }
    /// Once it has come: throws MISMATCH unless it is of the same operation as `mine`.
    void check(const OperationHeader &mine, uint32_t self) const { check_same(mine, self, header_, worker_); }
    uint64_t payload_bytes() const { return header_.payload_bytes; }
    /// Once it was checked: takes the payload, if there is any; true if there is.
    bool take_payload(Link &link, void *to, Pending &pending);
    bool taken() const { return taken_; }

  private:
    static constexpr uint32_t kNobody = UINT32_MAX;

    uint32_t worker_ = kNobody;
    OperationHeader header_;
    Pending header_here_;
    bool taken_ = false;
};

} // namespace mdist
