// SPDX-License-Identifier: Apache-2.0
// Address: "host:port" to numeric addresses, and back. Any thread.
#pragma once

#include <string>
#include <vector>

#include <sys/socket.h>

#include "comm/membership/world.h"

namespace mdist {

struct SocketAddress {
    sockaddr_storage storage = {};
    socklen_t length = 0;
    const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage); }
    sockaddr *get() { return reinterpret_cast<sockaddr *>(&storage); }
    int family() const { return storage.ss_family; }
};

/// "10.0.0.1:4400", "node-1:4400", "[::1]:4400". Throws CONFIG (`bad_address`).
Endpoint split_address(const std::string &address);
/// Numeric addresses of a host. getaddrinfo may hang for longer than anybody wants to wait, so a thread of its own asks
/// it, which is left behind when the time is up. What may yet come true (EAI_AGAIN; a name not yet known, for up to
/// 30 s) is asked for again. Throws NOT_FOUND (`name_resolution`).
std::vector<Endpoint> resolve(const Endpoint &named, uint64_t timeout_ns);

/// Of a numeric endpoint. Throws INTERNAL.
SocketAddress socket_address(const Endpoint &numeric);
Endpoint endpoint_of(const SocketAddress &address);
/// Of the near and of the far end.
Endpoint local_endpoint(int descriptor);
Endpoint remote_endpoint(int descriptor);

} // namespace mdist
