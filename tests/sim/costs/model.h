// SPDX-License-Identifier: Apache-2.0
// What the simulated job costs: hosts, workers and wires, in nanoseconds. docs/maintainers/performance/costs.md says
// where the numbers come from, and how well the model agrees with real runs.
#pragma once

#include <cstdint>
#include <string>

namespace mdist::costs {

/// What a thread pays. Measured by tests/bench/costs.cpp.
struct Machine {
    double wake_ns = 3500;        // from the moment that something comes until a waiting thread takes it
    double switch_ns = 5000;      // where a core goes on with another worker
    double turn_ns = 1000;        // for a look at the sockets
    double message_ns = 1500;     // for each message, on both sides
    double byte_ns = 0.35;        // for each byte, on both sides: between the program and the system
    double near_message_ns = 300; // the same within a host, through shared memory
    double near_byte_ns = 0.08;
    double near_latency_ns = 250;
    double sum_byte_ns = 0.045; // for each byte of each input of a sum
};

/// A network: every host has one port in each direction.
struct Wire {
    std::string name;
    double latency_ns; // one way
    double byte_ns;
};

struct Layout {
    uint32_t hosts = 2;
    uint32_t per_host = 1;
    uint32_t cores = 0;  // of a host; 0: one for each worker
    bool shared = false; // all hosts share them, as network namespaces do
    uint32_t workers() const { return hosts * per_host; }
};

} // namespace mdist::costs
