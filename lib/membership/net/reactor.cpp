// SPDX-License-Identifier: Apache-2.0
#include "membership/net/reactor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "membership/net/address.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/log.h"
#include "util/system_random.h"
#include "util/text.h"
#include "util/thread.h"

namespace mdist {
namespace {

constexpr uint64_t kWakenerId = 1, kListenerId = 2, kDatagramsId = 3; // ids of connections start at 4

constexpr int kMostAccepted = 64; // in a row, before the connections get their turn
constexpr int kMostPorts = 16;    // taken to find one that is free for both TCP and UDP

} // namespace

Reactor::Reactor(std::function<void()> after)
    : after_(std::move(after)),
      epoll_(list_descriptor(checked(epoll_create1(EPOLL_CLOEXEC), "make an epoll descriptor"))),
      wakener_(epoll_.get(), kWakenerId),
      listener_(epoll_.get(), kListenerId),
      datagrams_(epoll_.get(), kDatagramsId),
      connections_(epoll_.get(), wakener_, kDatagramsId) {}

Reactor::~Reactor() {
    stop();
    try {
        connections_.end_farewells();
    } catch (const std::exception &) { // no memory: queued bytes are lost
    }
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

uint64_t Reactor::now_ns() const {
    return monotonic_clock().now_ns();
}

void Reactor::random(void *bytes, std::size_t count) {
    system_random(bytes, count);
}

// ---- Listening

void Reactor::set_listen_at(const ListenAt &settings) {
    host_to_bind(settings, {}); // an unknown interface is told at once
    listen_at_ = settings;
}

Endpoint Reactor::listen_at(const Endpoint &at) {
    return listener_.listen_at(at);
}

Endpoint Reactor::listen(ConnectionId like) {
    const std::string near = connections_.near_end(like).host;
    Endpoint at;
    at.host = host_to_bind(listen_at_, near);
    listener_.close(); // a port of its own is free again
    Endpoint bound;
    int taken = 0;
    for (uint32_t n = 0; !bound.takes_datagrams && taken < kMostPorts && n < listen_at_.port_count(); ++n) {
        at.port = listen_at_.port(n);
        try {
            bound = listen_at(at);
        } catch (const Failure &failure) {
            if (listen_at_.any_port() || failure.native() != EADDRINUSE) throw;
            continue;
        }
        ++taken;
        bound.takes_datagrams = datagrams_.open_at(bound);
    }
    if (taken == 0) throw no_free_port(listen_at_, at);
    if (!bound.takes_datagrams && !std::exchange(told_of_no_datagrams_, true))
        log_warn("cannot receive datagrams at ", text_of(bound),
                 ", so other hosts may lose this worker in an outage that lasts longer than 0.4 of heartbeat_timeout");
    const auto zone_in = [](const std::string &host) { return host.substr(std::min(host.find('%'), host.size())); };
    zone_ = listen_at_.interface.empty() ? zone_in(at.host) : "%" + listen_at_.interface;
    if (zone_.empty()) zone_ = zone_in(near);
    return endpoint_to_tell(listen_at_, bound, near);
}

/// A worker tells a link-local address without a zone, since each host has names of its own for its interfaces.
Endpoint Reactor::in_zone(Endpoint to) const {
    if (!zone_.empty() && is_link_local(to.host) && to.host.find('%') == std::string::npos) to.host += zone_;
    return to;
}

void Reactor::send_datagram(const Endpoint &to, std::string_view bytes) {
    datagrams_.send(in_zone(to), bytes);
}

void Reactor::accept_some() {
    std::string host;
    for (int count = 0; count < kMostAccepted; ++count) {
        Descriptor descriptor = listener_.accept(now_ns(), host);
        if (descriptor.get() < 0) return;
        const ConnectionId id = connections_.adopt(std::move(descriptor));
        if (!connections_.has(id)) continue;
        machine_->accepted(id, host);
        // Its first bytes may be there already. Reading them now keeps the lobby from counting it as silent.
        connections_.read_some(id, *machine_);
    }
}

// ---- The thread

void *Reactor::run(void *self) {
    Reactor &reactor = *static_cast<Reactor *>(self);
    log::write_to(&reactor.log_);
    reactor.serve();
    return nullptr;
}

int Reactor::milliseconds_to_wait() const {
    const uint64_t next = std::min(machine_->next_tick_ns(), listener_.resumes_at_ns());
    if (connections_.any_failed()) return 0;
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
        if (count < 0 && errno != EINTR) return lose_all(errno); // the program has closed a descriptor of the library
        try {
            if (!tell(events, count)) return;
        } catch (const std::exception &) {
            return lose_all(ENOMEM);
        }
    }
}

/// Tells the machine what has happened. Returns false once the reactor is stopping.
bool Reactor::tell(const epoll_event *events, int count) {
    {
        const std::lock_guard<std::mutex> hold(lock_);
        if (stopping_.load()) return false;
        for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
        connections_.report_failures(*machine_);
        connections_.end_late_farewells(now_ns());
        listener_.resume_if_due(now_ns());
        if (now_ns() >= machine_->next_tick_ns()) machine_->tick();
    }
    after_();
    return true;
}

/// Ends all connections, since nothing can be received any more.
void Reactor::lose_all(int error) noexcept {
    {
        const std::lock_guard<std::mutex> hold(lock_);
        log_error("cannot watch the connections between workers any longer: ", std::strerror(error));
        connections_.lose_all(error, *machine_);
    }
    try {
        after_();
    } catch (const std::exception &) {
        return;
    }
}

/// Handles one event. A problem with one connection, mostly lack of memory, ends only that connection.
void Reactor::handle(uint64_t id, uint32_t events) {
    try {
        dispatch(id, events);
    } catch (const std::exception &exception) {
        log_error("a connection between workers has failed: ", exception.what());
        if (connections_.has(id)) connections_.fail(id, ENOMEM);
    }
}

void Reactor::dispatch(uint64_t id, uint32_t events) {
    if (id == kWakenerId) return wakener_.woken();
    if (id == kListenerId) return accept_some();
    if (id == kDatagramsId) return datagrams_.read_some([this](auto bytes) { machine_->datagram(bytes); });
    connections_.handle(id, events, *machine_);
}

} // namespace mdist
