// SPDX-License-Identifier: Apache-2.0
// World: what membership's state machines ask of their surroundings, and Machine: what these tell them. The reactor is
// a world of sockets, the simulator in tests/sim one of virtual time. A machine never waits and starts no threads; one
// thread at a time calls it, and the world never calls it from within a call of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mdist {

/// Never used again; 0 is none.
using ConnectionId = uint64_t;

/// A numeric address.
struct Endpoint {
    std::string host;
    uint16_t port = 0;
    bool operator==(const Endpoint &) const = default;
};

/// "10.0.0.1:4400", "[::1]:4400"
std::string text_of(const Endpoint &endpoint);

class Machine {
  public:
    virtual ~Machine() = default;
    /// A stranger has connected to what listen() opened.
    virtual void accepted(ConnectionId connection, const std::string &host) = 0;
    /// connect() has come to an end well; ill, it is closed().
    virtual void connected(ConnectionId connection) = 0;
    /// How many bytes it wants to be given next at most; 0 for a connection that it knows nothing of.
    virtual std::size_t wanted(ConnectionId connection) const = 0;
    virtual void received(ConnectionId connection, std::string_view bytes) = 0;
    /// By the other side (0) or by an error (errno). Not after close() or release().
    virtual void closed(ConnectionId connection, int error) = 0;
    /// At next_tick_ns() or later; any number of times.
    virtual void tick() = 0;
    virtual uint64_t next_tick_ns() const = 0;
};

class World {
  public:
    virtual ~World() = default;
    virtual uint64_t now_ns() const = 0;
    virtual void random(void *bytes, std::size_t count) = 0;
    virtual ConnectionId connect(const Endpoint &to) = 0;
    /// Accepts connections on the local address of `like`, at a free port, which it returns; in place of what it
    /// listened to before. Throws RESOURCE.
    virtual uint16_t listen(ConnectionId like) = 0;
    virtual void send(ConnectionId connection, std::string_view bytes) = 0;
    /// What was sent before still goes out.
    virtual void close(ConnectionId connection) = 0;
    /// The other side, from now on, may be silent for this long before the kernel gives up on what was sent to it.
    virtual void watch(ConnectionId connection, uint64_t silence_ns) = 0;
    /// Gives the connection to the caller, as a descriptor.
    virtual int release(ConnectionId connection) = 0;
};

} // namespace mdist
