// SPDX-License-Identifier: Apache-2.0
#include "membership/net/connections.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <exception>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "membership/net/address.h"
#include "util/clock.h"
#include "util/failure.h"

namespace mdist {
namespace {

constexpr uint64_t kFarewellNs = 500'000'000;
constexpr int kMostReads = 16; // in a row from one connection, before the others get their turn
constexpr std::size_t kReadBytes = 16 * 1024;
constexpr int kMostKeepalives = 127; // the kernel's limit

void set_option(int descriptor, int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof value); // a failure only makes things slower
}

/// Whether nobody listened at that local port, so that TCP connected the socket to itself.
bool is_connected_to_itself(int descriptor) {
    try {
        return local_endpoint(descriptor) == remote_endpoint(descriptor);
    } catch (const Failure &) { // whoever needs the address says why there is none
        return false;
    }
}

} // namespace

Connections::Connections(int epoll, const Wakener &wakener, ConnectionId last_id)
    : epoll_(epoll), wakener_(wakener), last_id_(last_id) {}

Connections::~Connections() {
    for (const auto &[id, socket] : sockets_) close_descriptor(socket.descriptor);
}

ConnectionId Connections::add(Descriptor fresh, bool connecting) {
    const ConnectionId id = ++last_id_;
    Socket &socket = sockets_[id];
    const int descriptor = socket.descriptor = fresh.release();
    socket.connecting = connecting;
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 4);
    if (watch_events(epoll_, EPOLL_CTL_ADD, descriptor, connecting ? EPOLLOUT : EPOLLIN, id) != 0) fail(id, errno);
    return id;
}

void Connections::set_events(ConnectionId id, const Socket &socket) {
    const bool reads = !socket.connecting && (!socket.closing || (socket.parting && socket.queued.empty()));
    const bool writes = socket.connecting || !socket.queued.empty();
    watch_events(epoll_, EPOLL_CTL_MOD, socket.descriptor, (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u), id);
}

void Connections::forget(ConnectionId id, bool close_it) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, found->second.descriptor, nullptr);
    if (close_it) close_descriptor(found->second.descriptor);
    sockets_.erase(found);
}

void Connections::fail(ConnectionId id, int error) {
    const bool tell = !sockets_.at(id).closing;
    if (tell) failures_.emplace_back(id, error); // may throw, so it comes first
    forget(id, true);
    if (tell) wakener_.wake();
}

ConnectionId Connections::connect(const Endpoint &to) {
    Descriptor descriptor;
    int error = 0;
    try {
        const SocketAddress address = socket_address(to);
        descriptor = Descriptor(list_descriptor(
            checked(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "open a socket")));
        if (::connect(descriptor.get(), address.get(), address.length) != 0 && errno != EINPROGRESS && errno != EINTR)
            error = errno;
    } catch (const Failure &failure) {
        error = failure.native() != 0 ? static_cast<int>(failure.native()) : EINVAL;
    }
    if (error == 0) return add(std::move(descriptor), true);
    failures_.emplace_back(++last_id_, error);
    wakener_.wake();
    return last_id_;
}

void Connections::finish_connecting(ConnectionId id, Socket &socket, Machine &machine) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0 && is_connected_to_itself(socket.descriptor)) error = ECONNREFUSED;
    if (error != 0) return fail(id, error);
    socket.connecting = false;
    set_events(id, socket);
    machine.connected(id);
}

void Connections::send(ConnectionId id, std::string_view bytes) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end() || found->second.closing || found->second.send_error != 0) return;
    const bool idle = found->second.queued.empty();
    found->second.queued += bytes;
    if (idle) flush(id, found->second);
}

/// Keeps the connection for reading after a failed send: the other side may have sent something before it ended.
/// Reading finds that first, and then the end.
void Connections::cannot_send(ConnectionId id, Socket &socket, int error) {
    if (socket.closing) return forget(id, true);
    socket.queued.clear();
    socket.send_error = error;
    set_events(id, socket);
}

void Connections::flush(ConnectionId id, Socket &socket) {
    std::size_t sent = 0;
    while (sent < socket.queued.size()) {
        const ssize_t count = ::send(socket.descriptor, socket.queued.data() + sent, socket.queued.size() - sent,
                                     MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (count < 0) return cannot_send(id, socket, errno);
        sent += static_cast<std::size_t>(count);
    }
    socket.queued.erase(0, sent);
    if (!socket.closing || !socket.queued.empty()) return set_events(id, socket);
    socket.parting ? hang_up(id, socket) : forget(id, true);
}

/// Ends this direction, and drops what comes until the other side ends its own.
void Connections::hang_up(ConnectionId id, Socket &socket) {
    ::shutdown(socket.descriptor, SHUT_WR);
    char bytes[kReadBytes];
    ssize_t got = 0;
    do {
        got = recv(socket.descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return set_events(id, socket);
    forget(id, true);
}

void Connections::close(ConnectionId id, uint64_t now_ns) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    if (found->second.queued.empty()) return forget(id, true);
    found->second.closing = true;
    found->second.close_by_ns = now_ns + kFarewellNs;
    set_events(id, found->second);
}

void Connections::part(ConnectionId id, uint64_t now_ns) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    found->second.closing = found->second.parting = true;
    found->second.close_by_ns = now_ns + kFarewellNs;
    flush(id, found->second);
}

void Connections::watch(ConnectionId id, uint64_t silence_ns) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    const uint64_t milliseconds = std::min<uint64_t>(silence_ns / 1'000'000, INT_MAX);
    set_option(found->second.descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(milliseconds));
}

int Connections::release(ConnectionId id) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return -1;
    const int descriptor = found->second.descriptor;
    const bool whole = found->second.queued.empty();
    // Heartbeats watch the other side from here on. The kernel's keepalives only keep the path open through firewalls.
    // They must not end the connection in an outage that the heartbeat timeout permits.
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kMostKeepalives);
    forget(id, !whole);
    return whole ? descriptor : -1;
}

Endpoint Connections::near_end(ConnectionId id) const {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) throw Failure(MDIST_ERR_RESOURCE, "the connection to the store has just ended");
    return local_endpoint(found->second.descriptor);
}

void Connections::handle(ConnectionId id, uint32_t events, Machine &machine) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return; // an earlier event of this batch has ended it
    Socket &socket = found->second;
    if (socket.connecting) return finish_connecting(id, socket, machine);
    if (socket.closing && (events & (EPOLLERR | EPOLLHUP)) != 0) return forget(id, true);
    if ((events & EPOLLOUT) != 0) {
        flush(id, socket);
        if (sockets_.count(id) == 0) return;
    }
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) return;
    socket.parting ? flush(id, socket) : read_some(id, machine);
}

void Connections::read_some(ConnectionId id, Machine &machine) {
    char bytes[kReadBytes];
    for (int count = 0; count < kMostReads; ++count) {
        const auto found = sockets_.find(id);
        if (found == sockets_.end() || found->second.closing) return;
        const std::size_t wanted = std::min(machine.wanted(id), sizeof bytes);
        if (wanted == 0) return forget(id, true); // the machine no longer knows it
        const ssize_t got = recv(found->second.descriptor, bytes, wanted, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) return fail(id, got < 0 ? errno : found->second.send_error);
        machine.received(id, std::string_view(bytes, static_cast<std::size_t>(got)));
    }
}

void Connections::lose_all(int error, Machine &machine) noexcept {
    while (!sockets_.empty()) {
        const ConnectionId id = sockets_.begin()->first;
        const bool tell = !sockets_.begin()->second.closing;
        forget(id, true);
        try {
            if (tell) machine.closed(id, error);
        } catch (const std::exception &) { // the next one may still be told
        }
    }
}

void Connections::report_failures(Machine &machine) {
    while (!failures_.empty()) {
        const auto failures = std::exchange(failures_, {});
        for (const auto &[id, error] : failures) machine.closed(id, error);
    }
}

void Connections::end_late_farewells(uint64_t now_ns) {
    std::vector<ConnectionId> late;
    for (const auto &[id, socket] : sockets_)
        if (socket.closing && now_ns >= socket.close_by_ns) late.push_back(id);
    for (const ConnectionId id : late) forget(id, true);
}

void Connections::end_farewells() {
    const uint64_t deadline = monotonic_clock().now_ns() + kFarewellNs;
    for (;;) {
        std::vector<pollfd> waiting;
        for (const auto &[id, socket] : sockets_)
            if (socket.closing)
                waiting.push_back({socket.descriptor, socket.queued.empty() ? short{POLLIN} : short{POLLOUT}, 0});
        const uint64_t now = monotonic_clock().now_ns();
        if (waiting.empty() || now >= deadline) return;
        poll(waiting.data(), waiting.size(), static_cast<int>((deadline - now) / 1'000'000 + 1));
        std::vector<ConnectionId> closing;
        for (const auto &[id, socket] : sockets_)
            if (socket.closing) closing.push_back(id);
        for (const ConnectionId id : closing) flush(id, sockets_.at(id));
    }
}

} // namespace mdist
