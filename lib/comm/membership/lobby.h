// SPDX-License-Identifier: Apache-2.0
// Lobby: where those who connect wait until they have shown who they are. At most kMostGuests at a time, kHandshakeNs
// each; a guest that says anything else than the protocol is dropped at once. Of a full lobby the oldest that has not
// said HELLO goes; if all have, the oldest of those that claim the rank claimed most often. So whoever connects and
// sends nothing never keeps a worker out, and whoever claims one rank a thousand times is in nobody's way but that
// rank's. Pure state; one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "comm/membership/handshake.h"
#include "comm/membership/world.h"

namespace mdist {

inline constexpr std::size_t kMostGuests = 64;
inline constexpr uint64_t kHandshakeNs = 5'000'000'000;

/// Who has shown that it belongs here.
struct Guest {
    ConnectionId connection;
    std::string host;
    Hello hello;
    std::string body;
    Channel channel;
};

class Lobby {
  public:
    /// `most_body`: of what comes with a PROOF. `who`: "the store", in refusals.
    Lobby(World &world, std::string who, std::size_t most_body);

    /// Whom to let in from now on. Before, those who come may say HELLO and are kept waiting.
    void open_for(std::string key, const SessionId &session);
    /// Sends everybody away and is not open.
    void shut();
    void accepted(ConnectionId connection, const std::string &host);
    bool has(ConnectionId connection) const { return guests_.count(connection) != 0; }
    std::size_t size() const { return guests_.size(); }
    std::size_t wanted(ConnectionId connection) const;
    std::optional<Guest> received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection) { guests_.erase(connection); }
    void tick();
    uint64_t next_tick_ns() const;

  private:
    struct Waiting {
        std::string host;
        uint64_t since_ns;
        Channel channel;
        Called called;
        bool greeted = false;
        std::optional<ControlFrame> held; // HELLO, come too early
    };
    void make_room();
    void drop(ConnectionId connection, const char *why);
    void refuse(ConnectionId connection, Waiting &guest, const Failure &failure);
    std::optional<Guest> heard(ConnectionId connection, Waiting &guest, const ControlFrame &frame);
    void greet(ConnectionId connection, Waiting &guest, const ControlFrame &frame);

    World &world_;
    std::string who_;
    std::size_t most_body_;
    std::string key_;
    SessionId session_ = {};
    bool open_ = false;
    uint64_t refusals_ = 0;
    std::map<ConnectionId, Waiting> guests_; // in the order they came
};

} // namespace mdist
