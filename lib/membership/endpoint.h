// SPDX-License-Identifier: Apache-2.0
// Endpoint: the address and port at which a worker or store listens.
#pragma once

#include <cstdint>
#include <string>

namespace mdist {

/// The host is a numeric address, or a name that is not resolved yet.
struct Endpoint {
    std::string host;
    uint16_t port = 0;
    bool takes_datagrams = false; // whether a worker that listens there takes datagrams at the same port
    bool operator==(const Endpoint &) const = default;
};

/// "10.0.0.1:4400", "[::1]:4400"
std::string text_of(const Endpoint &endpoint);

} // namespace mdist
