// SPDX-License-Identifier: Apache-2.0
// Transfer: moves ranges of bytes between workers, whose sizes all sides have agreed on before. Collectives that only
// move bytes, such as all_gather and all_to_all, come down to this.
#pragma once

#include "comm/links/link.h"
#include "comm/schedules/schedule.h"

#include <cstddef>
#include <vector>

namespace mdist {

class Transfer final : public Schedule {
  public:
    struct Outgoing {
        uint32_t worker;
        const void *data;
        std::size_t bytes;
    };
    struct Incoming {
        uint32_t worker;
        void *data;
        std::size_t bytes;
    };

    /// What this worker receives for others, too: each range, in this order, is passed on to all of `to`.
    struct Passed {
        std::vector<Incoming> receives;
        std::vector<uint32_t> to;
    };

    /// The i-th range sent to a worker, or then passed on to it, goes to the i-th range that it receives from this
    /// worker; both have the same size. A range sent to this worker itself is copied at once. The schedule uses the low
    /// 32 bits of `tag`. `earlier` may be null. If not, the transfer is over only when it counts nothing any more.
    Transfer(Link &link, uint64_t tag, const std::vector<Outgoing> &sends, const std::vector<Incoming> &receives,
             const Pending *earlier = nullptr, Passed passed = {});

    bool advance() override;

  private:
    bool pass_on();

    Link &link_;
    const uint64_t tag_;
    Pending pending_;
    const Pending *earlier_;
    const Passed passed_;
    std::vector<Pending> arrivals_; // of what is passed on
    std::size_t passed_on_ = 0;
};

} // namespace mdist
