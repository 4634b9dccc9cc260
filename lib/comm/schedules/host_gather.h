// SPDX-License-Identifier: Apache-2.0
// HostGather: the ranges of a transfer in which all workers take what each gives, where hosts have several workers. A
// piece comes to each host once: to the worker in the giver's place, who passes it on to its mates.
//
// All workers name the same pieces in the same order. Between two workers, first go the pieces of the one, then what it
// passes on.
#pragma once

#include "comm/schedules/transfer.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class HostGather {
  public:
    /// Each host has `per_host` workers, with consecutive ranks.
    HostGather(uint32_t self, uint32_t workers, uint32_t per_host);

    /// This worker gives a piece.
    void give(const char *from, std::size_t bytes);
    /// Another worker gives one, for which there is room here.
    void receive(uint32_t giver, char *to, std::size_t bytes);

    /// Appends to what else is sent and received. Returns what is to be passed on. Call it once, at the end.
    Transfer::Passed finish(std::vector<Transfer::Outgoing> &sends, std::vector<Transfer::Incoming> &receives);

  private:
    uint32_t host_of(uint32_t worker) const { return worker / per_host_; }
    uint32_t place_of(uint32_t worker) const { return worker % per_host_; }

    const uint32_t self_;
    const uint32_t workers_;
    const uint32_t per_host_;
    std::vector<Transfer::Outgoing> sends_;
    std::vector<Transfer::Incoming> of_mates_;
    std::vector<Transfer::Incoming> through_mates_;
    Transfer::Passed passed_;
};

} // namespace mdist
