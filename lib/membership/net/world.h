// SPDX-License-Identifier: Apache-2.0
// World and Machine: the two sides of membership's state machines. A Machine asks a World for time, connections and
// datagrams. The World tells the Machine what happens. The reactor is a world of real sockets. The simulator in
// tests/sim is a world of virtual time. A machine never waits and starts no threads. One thread at a time calls it. The
// world never calls a machine from within the machine's own call to the world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "membership/net/endpoint.h"

namespace mdist {

/// Numbers are never used again. 0 means no connection.
using ConnectionId = uint64_t;

class Machine {
  public:
    virtual ~Machine() = default;
    /// A stranger has connected to the address that listen() opened.
    virtual void accepted(ConnectionId connection, const std::string &host) = 0;
    /// connect() has succeeded. If it fails, closed() is called instead.
    virtual void connected(ConnectionId connection) = 0;
    /// How many bytes it takes next at most; 0 for a connection that it does not know.
    virtual std::size_t wanted(ConnectionId connection) const = 0;
    virtual void received(ConnectionId connection, std::string_view bytes) = 0;
    /// The other side (error 0) or an error (errno) has ended the connection. Not called after close() or release().
    virtual void closed(ConnectionId connection, int error) = 0;
    /// A datagram has come to the port that listen() returned. Anybody may have sent it.
    virtual void datagram(std::string_view) {}
    /// Called at next_tick_ns() or later, any number of times.
    virtual void tick() = 0;
    virtual uint64_t next_tick_ns() const = 0;
};

class World {
  public:
    virtual ~World() = default;
    virtual uint64_t now_ns() const = 0;
    virtual void random(void *bytes, std::size_t count) = 0;
    virtual ConnectionId connect(const Endpoint &to) = 0;
    /// Accepts connections at a free port, and no longer at the port before: on the local address of `like`, unless
    /// the world is configured otherwise. Takes datagrams there too, if the system permits. Returns the endpoint that
    /// the others connect to; without a host if that is where the store sees this worker. Throws RESOURCE, CONFIG.
    virtual Endpoint listen(ConnectionId like) = 0;
    /// A datagram may arrive once, late, or never.
    virtual void send_datagram(const Endpoint &to, std::string_view bytes) = 0;
    virtual void send(ConnectionId connection, std::string_view bytes) = 0;
    /// Closes the connection. Bytes sent before still go out.
    virtual void close(ConnectionId connection) = 0;
    /// The same, but what was sent arrives for sure: it waits a while for the other side to close its end. (A
    /// connection that is closed with something unread in it is reset, which may overtake what was sent.)
    virtual void part(ConnectionId connection) { close(connection); }
    /// Sets how long the kernel waits for the other side to acknowledge sent bytes before it ends the connection.
    virtual void watch(ConnectionId connection, uint64_t silence_ns) = 0;
    /// Gives the connection to the caller, as a descriptor. Returns -1 if it has ended, or has bytes still to send.
    virtual int release(ConnectionId connection) = 0;
};

} // namespace mdist
