// SPDX-License-Identifier: Apache-2.0
// Exchange-all: the all-reduce for small buffers over a link. Everybody sends its input to everybody and sums what
// comes along the canonical tree: one trip, (n-1) * b bytes out and in per party of n. Also the plain twin of the
// in-process path: what both compute is the same bit for bit.
#pragma once

#include "comm/links/link.h"
#include "comm/schedules/schedule.h"

#include <cstdint>
#include <vector>

namespace mdist {

/// A state machine: create, then call advance() until it says done. One thread at a time.
class ExchangeAll final : public Schedule {
  public:
    /// Buffers of equal length on all parties; checked before. They belong to the schedule until it is done. `tag` is
    /// the operation's, unlike any other under way.
    ExchangeAll(Link &link, uint64_t tag, int32_t dtype, int32_t op, const void *input, void *output,
                uint64_t elements);

    /// Moves on without waiting; true when the output is there. Throws what the link throws.
    bool advance() override;

  private:
    Link &link_;
    int32_t dtype_;
    int32_t op_;
    const void *input_;
    void *output_;
    uint64_t elements_;
    std::vector<char> received_; // one stretch per party; its own is not used
    Pending pending_;
    bool done_ = false;
};

} // namespace mdist
