// SPDX-License-Identifier: Apache-2.0
// Hosts: where the workers of an elastic job may run: how many on each host, and which host is left out for a time,
// since workers failed there again and again. Asks no clock. Main thread.
#pragma once

#include "launch/ending.h"
#include "launch/placement.h"

#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Hosts {
  public:
    /// `leave_out`: for how long a host gets no workers after three failures in a row; none: never.
    Hosts(const Placement &placement, std::optional<Clock::duration> leave_out);

    /// From now on there are these hosts. What is known of the failures of a host stays.
    void set(const std::vector<Host> &hosts);
    /// How many workers may run on that host; 0 if it is not there.
    uint32_t room_of(const std::string &host) const;
    /// A place for a worker of this rank beside those that are taken: on the `preferred` host if that has room, else on
    /// the first that has.
    std::optional<Place> find(uint32_t rank, const std::vector<Place> &taken, const std::string &preferred,
                              Time now) const;
    /// Places for so many workers, or for as many as there is room for, on all hosts.
    std::vector<Place> first(uint32_t first_rank, uint32_t count) const;
    /// A worker that began then has failed. Failures of workers that ran at the same time count as one. Returns whether
    /// the host is left out from now on.
    bool note_failure(const std::string &host, Time began, Time now);

  private:
    struct Known {
        Host host;             // with 0 workers once it has gone
        uint32_t failures = 0; // in a row
        Time last_failure = Time::min();
        Time out_until = Time::min();
    };
    std::vector<Known> known_; // in the order in which they came; never shorter
    uint32_t first_node_;
    std::optional<Clock::duration> leave_out_;
};

} // namespace mdist
