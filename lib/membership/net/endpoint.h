// SPDX-License-Identifier: Apache-2.0
// Endpoint: the address and port at which a worker or store listens.
#pragma once

#include <cstdint>
#include <string>

#include "util/payload.h"

namespace mdist {

/// The host is a numeric address, or a name that is not resolved yet.
struct Endpoint {
    std::string host;
    uint16_t port = 0;
    bool takes_datagrams = false; // whether a worker that listens there takes datagrams at the same port
    // Of a worker that listens there, for messages:
    uint32_t pid = 0;                 // 0: not told
    uint32_t started_as = UINT32_MAX; // the rank that its launcher gave it, which elastic jobs change; MDIST_NONE: none
    bool operator==(const Endpoint &) const = default;
    template <class Self, class Payload>
    static void fields(Self &self, Payload &payload) {
        payload(self.host, self.port, self.takes_datagrams, self.pid, self.started_as);
    }
};

/// "10.0.0.1:4400", "[::1]:4400"
std::string text_of(const Endpoint &endpoint);
/// "10.0.0.1, pid 77"
std::string host_and_pid(const Endpoint &endpoint);
/// Whether only this host can be reached there.
bool is_loopback(const Endpoint &endpoint);
/// Sets the host if the worker that listens there has told none. `seen`: from where it has called the store.
void complete_host(Endpoint &listens, const std::string &seen);

} // namespace mdist
