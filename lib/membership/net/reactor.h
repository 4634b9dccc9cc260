// SPDX-License-Identifier: Apache-2.0
// Reactor: a World of real sockets, and the thread that runs one Machine in it. The machine belongs to the thread that
// holds lock(). The reactor's thread holds it while it tells the machine what has happened. Nothing is called back
// while the lock is held. Nothing here waits for the other side of a connection: sends are queued.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include <pthread.h>
#include <sys/epoll.h>

#include "membership/net/connections.h"
#include "membership/net/datagrams.h"
#include "membership/net/descriptors.h"
#include "membership/net/listen_at.h"
#include "membership/net/listener.h"
#include "membership/net/wakener.h"
#include "membership/net/world.h"
#include "util/late_log.h"

namespace mdist {

class Reactor final : public World {
  public:
    /// `after`: called on the reactor's thread, without the lock, after the machine was told something.
    explicit Reactor(std::function<void()> after);
    /// Ends the thread. Queued bytes still go out if the other sides take them within half a second.
    ~Reactor() override;
    Reactor(const Reactor &) = delete;
    Reactor &operator=(const Reactor &) = delete;

    /// Serves `machine` from now on, on a thread with that name. Call it once.
    void start(Machine &machine, const char *thread_name);
    /// How listen() chooses. Call it before start().
    /// Throws CONFIG (`no_interface`).
    void set_listen_at(const ListenAt &settings);
    /// Binds the address and accepts connections. Returns the true endpoint. Throws RESOURCE (`address_in_use`), CONFIG
    /// (`address_not_local`).
    Endpoint listen_at(const Endpoint &at);
    std::mutex &lock() { return lock_; }
    /// Wakes the thread. Call it after changing the machine under the lock, as its next tick may have changed.
    void wake() noexcept { wakener_.wake(); }
    /// Ends the thread, so that nothing is called back any more. Connections stay for farewells. Call it any number of
    /// times, but not on the reactor's thread.
    void stop() noexcept;

    uint64_t now_ns() const override;
    void random(void *bytes, std::size_t count) override;
    ConnectionId connect(const Endpoint &to) override { return connections_.connect(in_zone(to)); }
    Endpoint listen(ConnectionId like) override;
    void send_datagram(const Endpoint &to, std::string_view bytes) override;
    void send(ConnectionId connection, std::string_view bytes) override { connections_.send(connection, bytes); }
    void close(ConnectionId connection) override { connections_.close(connection, now_ns()); }
    void part(ConnectionId connection) override { connections_.part(connection, now_ns()); }
    void watch(ConnectionId connection, uint64_t silence_ns) override { connections_.watch(connection, silence_ns); }
    int release(ConnectionId connection) override { return connections_.release(connection); }

  private:
    static void *run(void *self);
    void serve();
    int milliseconds_to_wait() const;
    bool tell(const epoll_event *events, int count);
    void lose_all(int error) noexcept;
    void handle(uint64_t id, uint32_t events);
    void dispatch(uint64_t id, uint32_t events);
    void accept_some();
    Endpoint in_zone(Endpoint to) const;

    std::function<void()> after_;
    LateLog log_; // takes the thread's log lines, so that a stopped terminal does not stop its heartbeats
    std::mutex lock_;
    Machine *machine_ = nullptr;
    ListenAt listen_at_;
    std::string zone_; // of link-local addresses that others tell, once known
    const Descriptor epoll_;
    const Wakener wakener_;
    Listener listener_;
    Datagrams datagrams_;
    Connections connections_;
    std::atomic<bool> stopping_{false};
    bool running_ = false;
    bool told_of_no_datagrams_ = false;
    pthread_t thread_ = {};
};

} // namespace mdist
