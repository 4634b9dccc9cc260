// SPDX-License-Identifier: Apache-2.0
// Addresses as people write them, and what the system makes of them. Any thread; what asks the network waits.
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

/// "host:port", "[IPv6 address]:port"; throws BadAddress.
HostPort split_address(const std::string &address);

/// One numeric address with a port.
struct Endpoint {
    sockaddr_storage address{};
    socklen_t length = 0;

    const sockaddr *generic() const { return reinterpret_cast<const sockaddr *>(&address); }
    /// "10.0.0.1", "[fe80::1]"
    std::string host_text() const;
};

/// All that a name stands for, at least one; throws std::runtime_error with the resolver's reason.
std::vector<Endpoint> resolve(const HostPort &where);

/// Whether it is an address of this machine.
bool is_own(const Endpoint &endpoint);

/// 0, or errno of the attempt to serve there. Nothing is served.
int problem_serving(const Endpoint &endpoint);

/// 0 if somebody accepts; else errno, ETIMEDOUT if there was no answer in time.
int problem_connecting(const Endpoint &endpoint, int timeout_ms);

/// The address of this machine from which it speaks to `far`; "" if there is no way. Sends nothing.
std::string near_end(const Endpoint &far);

} // namespace mdist
