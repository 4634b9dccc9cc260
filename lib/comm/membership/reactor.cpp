// SPDX-License-Identifier: Apache-2.0
#include "comm/membership/reactor.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/membership/address.h"
#include "comm/membership/descriptors.h"
#include "comm/membership/secret.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/log.h"
#include "util/text.h"
#include "util/thread.h"

namespace mdist {
namespace {

constexpr uint64_t kWakenerId = 1, kListenerId = 2; // connections count from 3
constexpr uint64_t kFarewellNs = 500'000'000;
constexpr int kMostAccepted = 64; // in a row, before others are looked at
constexpr int kMostReads = 16;    // likewise from one connection
constexpr std::size_t kReadBytes = 16 * 1024;

void set_option(int descriptor, int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof value); // without it, things go on more slowly
}

} // namespace

Reactor::Reactor(std::function<void()> after)
    : after_(std::move(after)),
      epoll_(list_descriptor(checked(epoll_create1(EPOLL_CLOEXEC), "make an epoll descriptor"))),
      wakener_(list_descriptor(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an event descriptor"))),
      listener_(epoll_.get(), kListenerId),
      last_id_(kListenerId) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = kWakenerId;
    checked(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakener_.get(), &event), "watch a descriptor");
}

Reactor::~Reactor() {
    stop();
    end_farewells();
    for (const auto &[id, socket] : sockets_) close_descriptor(socket.descriptor);
}

void Reactor::start(Machine &machine, const char *thread_name) {
    machine_ = &machine;
    if (const int failed = start_thread(&thread_, run, this, thread_name))
        throw Failure(MDIST_ERR_RESOURCE, text("cannot start a thread: ", std::strerror(failed))).native(failed);
    running_ = true;
}

void Reactor::stop() noexcept {
    if (!running_) return;
    stopping_.store(true);
    wake();
    pthread_join(thread_, nullptr);
    running_ = false;
}

void Reactor::wake() noexcept {
    const uint64_t one = 1;
    while (write(wakener_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
}

uint64_t Reactor::now_ns() const {
    return monotonic_clock().now_ns();
}

void Reactor::random(void *bytes, std::size_t count) {
    system_random(bytes, count);
}

// ---- Connections

ConnectionId Reactor::add(Descriptor fresh, bool connecting) {
    const ConnectionId id = ++last_id_;
    Socket &socket = sockets_[id];
    const int descriptor = socket.descriptor = fresh.release();
    socket.connecting = connecting;
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 4);
    epoll_event event = {};
    event.events = connecting ? EPOLLOUT : EPOLLIN;
    event.data.u64 = id;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) failed(id, errno);
    return id;
}

void Reactor::set_events(ConnectionId id, const Socket &socket) {
    epoll_event event = {};
    event.events = (socket.closing || socket.connecting ? 0u : EPOLLIN) |
                   (socket.connecting || !socket.queued.empty() ? EPOLLOUT : 0u);
    event.data.u64 = id;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket.descriptor, &event);
}

void Reactor::forget(ConnectionId id, bool close_it) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.descriptor, nullptr);
    if (close_it) close_descriptor(found->second.descriptor);
    sockets_.erase(found);
}

/// The machine is told later: it may be in the middle of something.
void Reactor::failed(ConnectionId id, int error) {
    const bool tell = !sockets_.at(id).closing;
    forget(id, true);
    if (!tell) return;
    failures_.emplace_back(id, error);
    wake();
}

ConnectionId Reactor::connect(const Endpoint &to) {
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
    wake();
    return last_id_;
}

void Reactor::finish_connecting(ConnectionId id, Socket &socket) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0 && local_endpoint(socket.descriptor) == remote_endpoint(socket.descriptor))
        error = ECONNREFUSED; // nobody listened at that local port, and TCP connected it with itself
    if (error != 0) return failed(id, error);
    socket.connecting = false;
    set_events(id, socket);
    machine_->connected(id);
}

void Reactor::send(ConnectionId id, std::string_view bytes) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end() || found->second.closing || found->second.send_error != 0) return;
    const bool idle = found->second.queued.empty();
    found->second.queued += bytes;
    if (idle) flush(id, found->second);
}

/// The other side may have said something before it went, which reading brings to light, and then the end.
void Reactor::cannot_send(ConnectionId id, Socket &socket, int error) {
    if (socket.closing) return forget(id, true);
    socket.queued.clear();
    socket.send_error = error;
    set_events(id, socket);
}

void Reactor::flush(ConnectionId id, Socket &socket) {
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
    if (socket.closing && socket.queued.empty())
        forget(id, true);
    else
        set_events(id, socket);
}

void Reactor::close(ConnectionId id) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    if (found->second.queued.empty()) return forget(id, true);
    found->second.closing = true;
    found->second.close_by_ns = now_ns() + kFarewellNs;
    set_events(id, found->second);
}

void Reactor::watch(ConnectionId id, uint64_t silence_ns) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    const uint64_t milliseconds = std::min<uint64_t>(silence_ns / 1'000'000, INT_MAX);
    set_option(found->second.descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(milliseconds));
}

int Reactor::release(ConnectionId id) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return -1;
    const int descriptor = found->second.descriptor;
    const bool whole = found->second.queued.empty();
    forget(id, !whole);
    return whole ? descriptor : -1;
}

// ---- Listening

Endpoint Reactor::listen_at(const Endpoint &at) {
    return listener_.listen_at(at);
}

uint16_t Reactor::listen(ConnectionId like) {
    const auto found = sockets_.find(like);
    if (found == sockets_.end()) throw Failure(MDIST_ERR_RESOURCE, "the connection to the store has just ended");
    Endpoint at = local_endpoint(found->second.descriptor);
    at.port = 0;
    return listen_at(at).port;
}

void Reactor::accept_some() {
    std::string host;
    for (int count = 0; count < kMostAccepted; ++count) {
        Descriptor descriptor = listener_.accept(now_ns(), host);
        if (descriptor.get() < 0) return;
        const ConnectionId id = add(std::move(descriptor), false);
        if (sockets_.count(id) == 0) continue;
        machine_->accepted(id, host);
        read_some(id); // what it says may be there already; with it, it is not taken for one who says nothing
    }
}

// ---- The thread

void *Reactor::run(void *self) {
    static_cast<Reactor *>(self)->serve();
    return nullptr;
}

int Reactor::milliseconds_to_wait() const {
    const uint64_t next = std::min(machine_->next_tick_ns(), listener_.resumes_at_ns());
    if (!failures_.empty()) return 0;
    const uint64_t now = now_ns();
    if (next <= now) return 0;
    return static_cast<int>(std::min<uint64_t>((next - now + 999'999) / 1'000'000, 60'000));
}

void Reactor::serve() {
    epoll_event events[64];
    while (!stopping_.load()) {
        int wait = 0;
        {
            const std::lock_guard<std::mutex> hold(lock_);
            wait = milliseconds_to_wait();
        }
        const int count = epoll_wait(epoll_.get(), events, 64, wait);
        if (count < 0 && errno != EINTR) return lose_all(errno); // the program has closed what is not its own
        try {
            if (!tell(events, count)) return;
        } catch (const std::exception &) {
            return lose_all(ENOMEM);
        }
    }
}

/// What has happened, to the machine; false: it is to be told no more.
bool Reactor::tell(const epoll_event *events, int count) {
    {
        const std::lock_guard<std::mutex> hold(lock_);
        if (stopping_.load()) return false;
        for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
        report_failures();
        end_late_farewells();
        listener_.resume_if_due(now_ns());
        if (now_ns() >= machine_->next_tick_ns()) machine_->tick();
    }
    after_();
    return true;
}

/// Nothing can come any more. Without memory even for that, whoever waits has its own limit.
void Reactor::lose_all(int error) noexcept {
    try {
        {
            const std::lock_guard<std::mutex> hold(lock_);
            log_error("connections between workers can't be watched any more: ", std::strerror(error));
            while (!sockets_.empty()) failed(sockets_.begin()->first, error);
            report_failures();
        }
        after_();
    } catch (const std::exception &) {
        return;
    }
}

/// Whatever goes wrong with one connection (there is no memory, mostly) is the end of that one.
void Reactor::handle(uint64_t id, uint32_t events) {
    try {
        dispatch(id, events);
    } catch (const std::exception &exception) {
        log_error("a connection between workers has failed: ", exception.what());
        if (sockets_.count(id) != 0) failed(id, ENOMEM);
    }
}

void Reactor::dispatch(uint64_t id, uint32_t events) {
    if (id == kWakenerId) {
        uint64_t times = 0;
        while (read(wakener_.get(), &times, sizeof times) < 0 && errno == EINTR) {
        }
        return;
    }
    if (id == kListenerId) return accept_some();
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return; // ended by something before it in this batch
    Socket &socket = found->second;
    if (socket.connecting) return finish_connecting(id, socket);
    if (socket.closing && (events & (EPOLLERR | EPOLLHUP)) != 0) return forget(id, true);
    if ((events & EPOLLOUT) != 0) {
        flush(id, socket);
        if (sockets_.count(id) == 0) return;
    }
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) read_some(id);
}

void Reactor::read_some(ConnectionId id) {
    char bytes[kReadBytes];
    for (int count = 0; count < kMostReads; ++count) {
        const auto found = sockets_.find(id);
        if (found == sockets_.end() || found->second.closing) return;
        const std::size_t wanted = std::min(machine_->wanted(id), sizeof bytes);
        if (wanted == 0) return forget(id, true); // nobody's any more
        const ssize_t got = recv(found->second.descriptor, bytes, wanted, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) return failed(id, got < 0 ? errno : found->second.send_error);
        machine_->received(id, std::string_view(bytes, static_cast<std::size_t>(got)));
    }
}

void Reactor::report_failures() {
    while (!failures_.empty()) {
        const auto failures = std::exchange(failures_, {});
        for (const auto &[id, error] : failures) machine_->closed(id, error);
    }
}

void Reactor::end_late_farewells() {
    std::vector<ConnectionId> late;
    for (const auto &[id, socket] : sockets_)
        if (socket.closing && now_ns() >= socket.close_by_ns) late.push_back(id);
    for (const ConnectionId id : late) forget(id, true);
}

/// Gives what is still queued a chance, without the machine.
void Reactor::end_farewells() {
    const uint64_t deadline = now_ns() + kFarewellNs;
    for (;;) {
        std::vector<pollfd> waiting;
        for (const auto &[id, socket] : sockets_)
            if (socket.closing) waiting.push_back({socket.descriptor, POLLOUT, 0});
        const uint64_t now = now_ns();
        if (waiting.empty() || now >= deadline) return;
        poll(waiting.data(), waiting.size(), static_cast<int>((deadline - now) / 1'000'000 + 1));
        std::vector<ConnectionId> closing;
        for (const auto &[id, socket] : sockets_)
            if (socket.closing) closing.push_back(id);
        for (const ConnectionId id : closing) flush(id, sockets_.at(id));
    }
}

} // namespace mdist
