// SPDX-License-Identifier: Apache-2.0
// Broadcast: sends large data to all workers over a link, chunk by chunk. Each chunk has a place, in turns: the worker
// in this place on each host carries it. The root gives it to the carrier of its own host. That one gives it to the
// carrier of one other host, in turns, who passes it on to those of the rest. Each carrier gives it to its mates.
//
// So each host takes the data once from the network and passes it on about once, however many hosts and workers there
// are.
#pragma once

#include "comm/links/link.h"
#include "comm/schedules/schedule.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace mdist {

class Broadcast final : public Schedule {
  public:
    /// A range is read on the root and written on all other workers. Number and lengths are the same on all workers.
    struct Range {
        void *data;
        std::size_t bytes;
    };

    /// Each host has `per_host` workers, with consecutive ranks. The schedule uses the low 32 bits of `tag`.
    /// `chunk_bytes` 0 chooses the best chunk for this size. All workers must pass the same values.
    Broadcast(Link &link, uint64_t tag, uint32_t root, uint32_t per_host, const std::vector<Range> &ranges,
              std::size_t chunk_bytes = 0);

    bool advance() override;

  private:
    static constexpr uint32_t kNobody = UINT32_MAX;

    /// What this worker does with a chunk.
    struct Part {
        uint32_t from = kNobody;         // who gives it to this worker; nobody does to the root
        std::vector<uint32_t> far = {};  // workers of other hosts that this one gives it to
        std::vector<uint32_t> near = {}; // mates that it gives it to
    };
    /// A chunk that this worker gives to others.
    struct Relayed {
        Range range;
        uint64_t tag;
        Part part;
        Pending arrival;
    };

    Part part(uint64_t chunk) const;
    void post(const Range &range, uint64_t chunk);
    bool pass_on();
    void give(const Relayed &chunk, const std::vector<uint32_t> &workers);

    Link &link_;
    const uint64_t tag_;
    const uint32_t root_;
    const uint32_t per_host_;
    std::deque<Relayed> relayed_; // the link points at their Pending
    std::size_t passed_near_ = 0, passed_far_ = 0;
    Pending pending_;
};

} // namespace mdist
