// SPDX-License-Identifier: Apache-2.0
// Transfer: each worker gives ranges of bytes to peers and takes ranges from peers; sizes have been agreed before. What
// all_gather, all_to_all and whatever else only moves bytes come down to.
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

    /// The i-th range to a worker meets the i-th from us there, of the same size. One to oneself is copied, at once.
    /// The low 32 bits of `tag` are the schedule's.
    Transfer(Link &link, uint64_t tag, const std::vector<Outgoing> &sends, const std::vector<Incoming> &receives);

    bool advance() override;

  private:
    Link &link_;
    Pending pending_;
};

} // namespace mdist
