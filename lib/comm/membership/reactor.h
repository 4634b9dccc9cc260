// SPDX-License-Identifier: Apache-2.0
// Reactor: a World of real sockets, and the thread that serves one Machine in it. The machine belongs to whoever holds
// the lock: the reactor's thread while it tells it what has happened, others through with(). Nothing is called back
// while the lock is held, and nothing here waits for the other side: sends are queued.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pthread.h>
#include <sys/epoll.h>

#include "comm/membership/descriptors.h"
#include "comm/membership/listener.h"
#include "comm/membership/world.h"

namespace mdist {

class Reactor final : public World {
  public:
    /// `after`: called without the lock after the machine was told something, on the reactor's thread.
    explicit Reactor(std::function<void()> after);
    /// Ends the thread. What is queued still goes out, as far as the others take it within half a second.
    ~Reactor() override;
    Reactor(const Reactor &) = delete;
    Reactor &operator=(const Reactor &) = delete;

    /// Serves `machine` from now on, on a thread of that name. Once.
    void start(Machine &machine, const char *thread_name);
    /// Binds and accepts. Throws RESOURCE (`address_in_use`), CONFIG (`address_not_local`). The true endpoint.
    Endpoint listen_at(const Endpoint &at);
    std::mutex &lock() { return lock_; }
    /// To be called after the machine was changed under the lock, since it may have another next tick now.
    void wake() noexcept;
    /// Ends the thread, so that nothing is called any more; connections are still there for farewells. Any number of
    /// times; not on its own thread.
    void stop() noexcept;

    uint64_t now_ns() const override;
    void random(void *bytes, std::size_t count) override;
    ConnectionId connect(const Endpoint &to) override;
    uint16_t listen(ConnectionId like) override;
    void send(ConnectionId connection, std::string_view bytes) override;
    void close(ConnectionId connection) override;
    void watch(ConnectionId connection, uint64_t silence_ns) override;
    int release(ConnectionId connection) override;

  private:
    struct Socket {
        int descriptor = -1;
        bool connecting = false;
        bool closing = false; // the machine is done with it; what is queued goes out
        uint64_t close_by_ns = 0;
        int send_error = 0; // nothing more is sent
        std::string queued;
    };
    static void *run(void *self);
    void serve();
    int milliseconds_to_wait() const;
    bool tell(const epoll_event *events, int count);
    void lose_all(int error) noexcept;
    void handle(uint64_t id, uint32_t events);
    void dispatch(uint64_t id, uint32_t events);
    void accept_some();
    void read_some(ConnectionId id);
    void finish_connecting(ConnectionId id, Socket &socket);
    void cannot_send(ConnectionId id, Socket &socket, int error);
    void flush(ConnectionId id, Socket &socket);
    void failed(ConnectionId id, int error);
    void report_failures();
    void end_late_farewells();
    void end_farewells();
    ConnectionId add(Descriptor fresh, bool connecting);
    void set_events(ConnectionId id, const Socket &socket);
    void forget(ConnectionId id, bool close_it);

    std::function<void()> after_;
    std::mutex lock_;
    Machine *machine_ = nullptr;
    const Descriptor epoll_, wakener_;
    Listener listener_;
    ConnectionId last_id_;
    std::map<ConnectionId, Socket> sockets_;
    std::vector<std::pair<ConnectionId, int>> failures_; // to be told to the machine
    std::atomic<bool> stopping_{false};
    bool running_ = false;
    pthread_t thread_ = {};
};

} // namespace mdist
