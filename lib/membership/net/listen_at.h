// SPDX-License-Identifier: Apache-2.0
// ListenAt: where a worker listens for the others, and where they call it, as it is configured. Plain data; the
// functions ask the system for its network interfaces. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "membership/net/endpoint.h"
#include "util/failure.h"

namespace mdist {

struct ListenAt {
    uint16_t first_port = 0, last_port = 0; // communication.ports; 0: any free port
    std::string interface;                  // communication.interface; empty: none
    std::string host;                       // communication.listen; empty: none
    Endpoint told;                          // communication.address; no host, no port: not set

    bool any_port() const { return first_port == 0; }
    uint32_t port_count() const { return any_port() ? UINT32_MAX : uint32_t{last_port} - first_port + 1; }
    /// The port of the n-th try, from 0. Processes begin at different places, so that those of a host seldom meet.
    uint16_t port(uint32_t n) const;
};

/// None of the ports is free at that address.
Failure no_free_port(const ListenAt &settings, const Endpoint &at);

/// What to do if workers that have reached the store cannot connect with each other.
std::string firewall_advice(const ListenAt &settings);

/// Returns the numeric address to bind. `near`: this worker's end of its connection with the store, which is the
/// default. Throws CONFIG (`no_interface`).
std::string host_to_bind(const ListenAt &settings, const std::string &near);

/// Returns where the others call a worker that listens at `bound`. Without a host, that is where the store sees it.
/// Throws CONFIG (`no_address`) if they could not.
Endpoint endpoint_to_tell(const ListenAt &settings, Endpoint bound, const std::string &near);

} // namespace mdist
