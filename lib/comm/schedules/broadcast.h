// SPDX-License-Identifier: Apache-2.0
// Broadcast: sends large data to all workers over a link. The root sends each chunk to one other worker, taking turns.
// That worker passes it on to the rest. Each worker's connection carries the data about once, however many workers
// there are.
#pragma once

#include "comm/links/link.h"
#include "comm/schedules/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class Broadcast final : public Schedule {
  public:
    /// A range is read on the root and written on all other workers. Number and lengths are the same on all workers.
    struct Range {
        void *data;
        std::size_t bytes;
    };

    /// The schedule uses the low 32 bits of `tag`. `chunk_bytes` 0 chooses the best chunk for this size. All workers
    /// must pass the same value.
    Broadcast(Link &link, uint64_t tag, uint32_t root, const std::vector<Range> &ranges, std::size_t chunk_bytes = 0);

    bool advance() override;

  private:
    /// A chunk that this worker passes on.
    struct Relayed {
        Range range;
        uint64_t tag;
        Pending arrival;
    };

    uint32_t relay(uint64_t chunk) const;
    void post(const Range &range, uint64_t chunk);
    bool pass_on();

    Link &link_;
    const uint64_t tag_;
    const uint32_t root_;
    std::vector<Relayed> relayed_; // in the order in which they arrive
    std::size_t passed_on_ = 0;
    Pending pending_;
};

} // namespace mdist
