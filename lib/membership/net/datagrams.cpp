// SPDX-License-Identifier: Apache-2.0
#include "membership/net/datagrams.h"

#include <cerrno>
#include <exception>

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "membership/net/address.h"

namespace mdist {

bool Datagrams::open_at(const Endpoint &at) {
    if (descriptor_.get() >= 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor_.get(), nullptr);
    descriptor_ = Descriptor();
    const SocketAddress address = socket_address(at);
    const int opened = socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (opened < 0) return false;
    Descriptor fresh(list_descriptor(opened));
    const int on = 1;
    if (address.family() == AF_INET6) setsockopt(fresh.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fresh.get(), address.get(), address.length) != 0 ||
        watch_events(epoll_, EPOLL_CTL_ADD, fresh.get(), EPOLLIN, id_) != 0)
        return false;
    descriptor_ = std::move(fresh);
    return true;
}

void Datagrams::send(const Endpoint &to, std::string_view bytes) noexcept {
    if (descriptor_.get() < 0) return;
    SocketAddress address;
    try {
        address = socket_address(to);
    } catch (const std::exception &) {
        return; // no memory, or an address zone that this host does not have
    }
    // If the queue is full or the network is down, this datagram is lost. The next one may get through.
    while (sendto(descriptor_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL, address.get(),
                  address.length) < 0 &&
           errno == EINTR) {
    }
}

std::optional<std::string_view> Datagrams::receive(char (&buffer)[kMostBytes]) {
    for (;;) {
        const ssize_t got = recv(descriptor_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (got >= 0) return std::string_view(buffer, static_cast<std::size_t>(got));
        if (errno != EINTR) return std::nullopt;
    }
}

} // namespace mdist
