// SPDX-License-Identifier: Apache-2.0
#include "launch/reachable.h"

#include "launch/process.h"

#include <memory>
#include <stdexcept>

#include <netdb.h>
#include <sys/socket.h>

namespace mdist {
namespace {

struct FreeAddresses {
    void operator()(addrinfo *list) const { freeaddrinfo(list); }
};

/// The near end of a socket that is connected to `far`; a datagram one, so that nothing is sent.
std::string near_end(const addrinfo &far) {
    const Descriptor socket(::socket(far.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage near{};
    socklen_t length = sizeof near;
    auto *generic = reinterpret_cast<sockaddr *>(&near);
    char text[NI_MAXHOST];
    if (!socket.is_open() || connect(socket.get(), far.ai_addr, far.ai_addrlen) != 0 ||
        getsockname(socket.get(), generic, &length) != 0 ||
        getnameinfo(generic, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
        return "";
    return far.ai_family == AF_INET6 ? std::string("[").append(text).append("]") : text;
}

std::string own_address_towards(const std::string &host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo *found = nullptr;
    if (const int problem = getaddrinfo(host.c_str(), "9", &hints, &found))
        throw std::runtime_error("--hosts: " + host + ": " + gai_strerror(problem) +
                                 "; if only --rsh knows the name, say with --store where workers find this machine");
    const std::unique_ptr<addrinfo, FreeAddresses> list(found);
    for (const addrinfo *far = found; far != nullptr; far = far->ai_next)
        if (std::string near = near_end(*far); !near.empty()) return near;
    throw std::runtime_error("--hosts: there is no way to " + host +
                             "; say with --store where workers find this machine");
}

} // namespace

std::string own_address_for(const Placement &placement) {
    for (const Place &place : placement.places)
        if (place.remote) return own_address_towards(place.host);
    return "127.0.0.1";
}

} // namespace mdist
