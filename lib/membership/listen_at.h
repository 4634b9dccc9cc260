// SPDX-License-Identifier: Apache-2.0
// ListenAt: where a worker listens for the others, as it is configured. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "membership/endpoint.h"
#include "util/failure.h"

namespace mdist {

struct ListenAt {
    uint16_t first_port = 0, last_port = 0; // communication.ports; 0: any free port

    bool any_port() const { return first_port == 0; }
    uint32_t port_count() const { return any_port() ? UINT32_MAX : uint32_t{last_port} - first_port + 1; }
    /// The port of the n-th try, from 0. Processes begin at different places, so that those of a host seldom meet.
    uint16_t port(uint32_t n) const;
};

/// None of the ports is free at that address.
Failure no_free_port(const ListenAt &settings, const Endpoint &at);

} // namespace mdist
