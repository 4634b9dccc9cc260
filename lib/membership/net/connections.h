// SPDX-License-Identifier: Apache-2.0
// Connections: the TCP connections of a reactor, and the bytes queued to be sent on them. Only end_farewells() waits.
// One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "membership/net/descriptors.h"
#include "membership/net/wakener.h"
#include "membership/net/world.h"

namespace mdist {

class Connections {
  public:
    /// `epoll` watches each connection under its id. New ids start after `last_id`. `wakener` wakes the reactor's wait
    /// when report_failures() has something to report.
    Connections(int epoll, const Wakener &wakener, ConnectionId last_id);
    /// Bytes that end_farewells() has not sent are lost.
    ~Connections();
    Connections(const Connections &) = delete;
    Connections &operator=(const Connections &) = delete;

    // As World describes them:
    ConnectionId connect(const Endpoint &to);
    void send(ConnectionId id, std::string_view bytes);
    void close(ConnectionId id, uint64_t now_ns);
    void part(ConnectionId id, uint64_t now_ns);
    void watch(ConnectionId id, uint64_t silence_ns);
    int release(ConnectionId id);

    /// Adds a connection that the other side has opened. Returns its id.
    ConnectionId adopt(Descriptor accepted) { return add(std::move(accepted), false); }
    bool has(ConnectionId id) const { return sockets_.count(id) != 0; }
    /// Returns this side's address. Throws RESOURCE if the connection has ended.
    Endpoint near_end(ConnectionId id) const;

    /// Handles what epoll reported of a connection. Does nothing if the connection has ended.
    void handle(ConnectionId id, uint32_t events, Machine &machine);
    void read_some(ConnectionId id, Machine &machine);
    /// Ends a connection. report_failures() tells the machine later, as the machine may be in the middle of a call.
    void fail(ConnectionId id, int error);
    /// Ends all connections, and tells the machine as far as there is memory. Not within a call of the machine.
    void lose_all(int error, Machine &machine) noexcept;
    bool any_failed() const { return !failures_.empty(); }
    void report_failures(Machine &machine);
    /// Ends the closed connections that have not sent their queued bytes in time.
    void end_late_farewells(uint64_t now_ns);
    /// Waits up to half a second for the ends of closed connections. Tells no machine.
    void end_farewells();

  private:
    struct Socket {
        int descriptor = -1;
        bool connecting = false;
        bool closing = false; // the machine has closed it; queued bytes still go out
        bool parting = false; // and then the other side is to close it
        uint64_t close_by_ns = 0;
        int send_error = 0; // errno of a failed send; nothing more is sent after it
        std::string queued;
    };
    ConnectionId add(Descriptor fresh, bool connecting);
    void set_events(ConnectionId id, const Socket &socket);
    void forget(ConnectionId id, bool close_it);
    void finish_connecting(ConnectionId id, Socket &socket, Machine &machine);
    void cannot_send(ConnectionId id, Socket &socket, int error);
    void flush(ConnectionId id, Socket &socket);
    void hang_up(ConnectionId id, Socket &socket);

    const int epoll_;
    const Wakener &wakener_;
    ConnectionId last_id_;
    std::map<ConnectionId, Socket> sockets_;
    std::vector<std::pair<ConnectionId, int>> failures_; // not yet told to the machine
};

} // namespace mdist
