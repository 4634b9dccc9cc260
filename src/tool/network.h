// SPDX-License-Identifier: Apache-2.0
// Network addresses in text form, and what the system knows about them. Any thread. Functions that ask the network
// wait.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <sys/socket.h>

namespace mdist {

struct HostPort {
    std::string host; // without brackets
    std::string port;
};

struct BadAddress : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Splits "host:port" or "[IPv6 address]:port"; throws BadAddress.
HostPort split_address(const std::string &address);

/// A numeric address with a port.
struct Endpoint {
    sockaddr_storage address{};
    socklen_t length = 0;

    const sockaddr *generic() const { return reinterpret_cast<const sockaddr *>(&address); }
    /// "10.0.0.1", "[fe80::1]"
    std::string host_text() const;
};

/// Returns all addresses of a name, at least one. Throws std::runtime_error with the resolver's reason.
std::vector<Endpoint> resolve(const HostPort &where);

/// Whether this machine has the address.
bool is_own(const Endpoint &endpoint);

/// Tries to listen there, and closes again. Returns 0 or the errno.
int problem_serving(const Endpoint &endpoint);

/// Tries to connect. Returns 0 if a server accepts, ETIMEDOUT without an answer in time, or another errno.
int problem_connecting(const Endpoint &endpoint, int timeout_ms);

/// The address of this machine from which it speaks to `far`; "" if there is no route. Sends nothing.
std::string near_end(const Endpoint &far);

} // namespace mdist
