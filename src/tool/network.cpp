// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include "descriptor.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>

namespace mdist {
namespace {

struct FreeAddresses {
    void operator()(addrinfo *list) const { freeaddrinfo(list); }
};

void set_port(Endpoint &endpoint, uint16_t port) {
    if (endpoint.address.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6 &>(endpoint.address).sin6_port = htons(port);
    } else {
        reinterpret_cast<sockaddr_in &>(endpoint.address).sin_port = htons(port);
    }
}

Descriptor stream_socket(const Endpoint &endpoint, int flags = 0) {
    return Descriptor(socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

} // namespace

HostPort split_address(const std::string &address) {
    const std::size_t colon = address.rfind(':');
    const bool brackets =
        address.starts_with('[') && colon != std::string::npos && colon > 1 && address[colon - 1] == ']';
    HostPort parts;
    if (colon != std::string::npos) {
        parts.host = brackets ? address.substr(1, colon - 2) : address.substr(0, colon);
        parts.port = address.substr(colon + 1);
    }
    const bool numeric = !parts.port.empty() && parts.port.size() <= 5 &&
                         parts.port.find_first_not_of("0123456789") == std::string::npos;
    if (parts.host.empty() || !numeric || (!brackets && parts.host.find(':') != std::string::npos))
        throw BadAddress("\"" + address + "\" is not a valid address; write host:port or [IPv6 address]:port");
    return parts;
}

std::string Endpoint::host_text() const {
    char text[NI_MAXHOST] = "?";
    getnameinfo(generic(), length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    return address.ss_family == AF_INET6 ? std::string("[").append(text).append("]") : text;
}

std::vector<Endpoint> resolve(const HostPort &where) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *found = nullptr;
    if (const int problem = getaddrinfo(where.host.c_str(), where.port.c_str(), &hints, &found))
        throw std::runtime_error(where.host + ": " + gai_strerror(problem));
    const std::unique_ptr<addrinfo, FreeAddresses> list(found);
    std::vector<Endpoint> endpoints;
    for (const addrinfo *entry = found; entry != nullptr; entry = entry->ai_next) {
        Endpoint &endpoint = endpoints.emplace_back();
        std::memcpy(&endpoint.address, entry->ai_addr, entry->ai_addrlen);
        endpoint.length = entry->ai_addrlen;
    }
    return endpoints;
}

bool is_own(const Endpoint &endpoint) {
    Endpoint any_port = endpoint;
    set_port(any_port, 0);
    return problem_serving(any_port) == 0;
}

int problem_serving(const Endpoint &endpoint) {
    const Descriptor socket = stream_socket(endpoint);
    const int on = 1; // as servers do, so that connections being closed do not block the port
    if (!socket.is_open() || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(socket.get(), endpoint.generic(), endpoint.length) != 0 || listen(socket.get(), 1) != 0)
        return errno;
    return 0;
}

int problem_connecting(const Endpoint &endpoint, int timeout_ms) {
    const Descriptor socket = stream_socket(endpoint, SOCK_NONBLOCK);
    if (!socket.is_open()) return errno;
    if (connect(socket.get(), endpoint.generic(), endpoint.length) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    pollfd done{socket.get(), POLLOUT, 0};
    if (poll(&done, 1, timeout_ms) <= 0) return ETIMEDOUT;
    int problem = 0;
    socklen_t length = sizeof problem;
    return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &length) == 0 ? problem : errno;
}

std::string near_end(const Endpoint &far) {
    const Descriptor socket(::socket(far.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    Endpoint near;
    near.length = sizeof near.address;
    if (!socket.is_open() || connect(socket.get(), far.generic(), far.length) != 0 ||
        getsockname(socket.get(), reinterpret_cast<sockaddr *>(&near.address), &near.length) != 0)
        return "";
    return near.host_text();
}

} // namespace mdist
