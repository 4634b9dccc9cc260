// SPDX-License-Identifier: Apache-2.0
// Address: converts "host:port" to numeric addresses, and back. Any thread.
#pragma once

#include <string>
#include <vector>

#include <sys/socket.h>

#include "membership/net/endpoint.h"

namespace mdist {

struct SocketAddress {
    sockaddr_storage storage = {};
    socklen_t length = 0;
    const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage); }
    sockaddr *get() { return reinterpret_cast<sockaddr *>(&storage); }
    int family() const { return storage.ss_family; }
};

/// Splits "10.0.0.1:4400", "node-1:4400" or "[::1]:4400" into host and port. Throws CONFIG (`bad_address`).
Endpoint split_address(const std::string &address);
/// Returns the numeric addresses of a host. getaddrinfo may hang for longer than the timeout. So it runs on a thread of
/// its own, which is left behind at the timeout. It asks again after EAI_AGAIN and after an unknown name, which may
/// appear late. Throws NOT_FOUND (`name_resolution`).
std::vector<Endpoint> resolve(const Endpoint &named, uint64_t timeout_ns);

/// Whether it is a numeric address that means something only with a network interface: fe80::1, fe80::1%eth0.
bool is_link_local(const std::string &host);

/// Converts a numeric endpoint. Throws INTERNAL if it is not numeric.
SocketAddress socket_address(const Endpoint &numeric);
Endpoint endpoint_of(const SocketAddress &address);
/// This side's address, and the other side's address, of a connected socket.
Endpoint local_endpoint(int descriptor);
Endpoint remote_endpoint(int descriptor);

} // namespace mdist
