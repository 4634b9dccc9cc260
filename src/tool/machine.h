// SPDX-License-Identifier: Apache-2.0
// The machine that a figure was measured on. Without it a figure means nothing. Any thread; reads the system each time.
#pragma once

#include <cstdint>
#include <string>

namespace mdist {

struct Machine {
    uint32_t online_cpus = 0;
    uint32_t usable_cpus = 0; // limited by affinity and by the cgroup's quota
    std::string model;
    std::string instruction_set; // the widest one that the library uses here
    uint64_t memory_bytes = 0;
    double load = 0; // average of the last minute, with our own
};

Machine this_machine();

} // namespace mdist
