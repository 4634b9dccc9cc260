// SPDX-License-Identifier: Apache-2.0
// Lobby: holds new connections (guests) until they have proved who they are, for at most kHandshakeNs each.
//
// It has a place for every worker that may come, and kMostGuests more. Where many workers share few cores, all of them
// may be waiting at once, and none must be turned away for another. A guest that breaks the protocol is dropped at
// once. If the lobby is full, it drops the oldest guest of the largest of these groups:
//   - guests that have not said HELLO
//   - guests that claim a rank that no worker has
//   - guests that claim one worker's rank (one group for each worker)
// So a stranger that sends nothing, or claims ranks that do not exist, never keeps a worker out. A stranger that claims
// one rank a thousand times obstructs only that rank. Pure state; one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "membership/net/log_limit.h"
#include "membership/net/world.h"
#include "membership/protocol/handshake.h"

namespace mdist {

inline constexpr std::size_t kMostGuests = 64;
inline constexpr uint64_t kHandshakeNs = 5'000'000'000;

/// A connection that has proved itself.
struct Guest {
    ConnectionId connection;
    std::string host;
    Hello hello;
    std::string body;
    Channel channel;
};

class Lobby {
  public:
    /// `who`: names this side in refusals: "the store". `rank`: the rank that callers must name in their HELLO,
    /// kStoreRank for the store. `most_body`: limit of the body that comes with a PROOF.
    Lobby(World &world, std::string who, uint32_t rank, std::size_t most_body);

    /// Sets how many workers may come.
    void expect(std::size_t workers) { workers_ = workers; }
    /// Changes how it names this side, and the rank that callers must name.
    void answer_as(std::string who, uint32_t rank);
    /// Lets in guests of this session from now on. Guests that come earlier may say HELLO and then wait.
    void open_for(std::string key, const SessionId &session);
    /// Closes all connections here. The lobby is not open until the next open_for().
    void shut();
    void accepted(ConnectionId connection, const std::string &host);
    bool has(ConnectionId connection) const { return guests_.count(connection) != 0; }
    std::size_t size() const { return guests_.size(); }
    std::size_t wanted(ConnectionId connection) const;
    std::optional<Guest> received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection) { guests_.erase(connection); }
    /// Logs the refusal of a guest that proved itself but is turned away. Leaves the connection alone.
    void note_refusal(const std::string &cause, const std::string &sentence);
    void tick();
    uint64_t next_tick_ns() const;
    /// Sets a function to call when a guest that claims this rank cannot show the secret.
    void when_refused(std::function<void(uint32_t rank, const std::string &why)> call) {
        when_refused_ = std::move(call);
    }

  private:
    struct Waiting {
        std::string host;
        uint64_t since_ns;
        Channel channel;
        Called called;
        bool greeted = false;
        std::optional<ControlFrame> held; // a HELLO that came too early
        bool silent() const { return !greeted && !held; }
    };
    void make_room();
    uint64_t kind_of(const Waiting &guest) const;
    void drop(ConnectionId connection, const char *why);
    void refuse(ConnectionId connection, Waiting &guest, const Failure &failure);
    void note_lack_of_secret(const Waiting &guest);
    std::optional<Guest> heard(ConnectionId connection, Waiting &guest, const ControlFrame &frame);
    void greet(ConnectionId connection, Waiting &guest, const ControlFrame &frame);

    World &world_;
    std::string who_;
    uint32_t rank_;
    std::size_t most_body_;
    std::size_t workers_ = 0;
    std::string key_;
    SessionId session_ = {};
    bool open_ = false;
    LogLimit log_;
    std::function<void(uint32_t, const std::string &)> when_refused_;
    std::map<ConnectionId, Waiting> guests_; // in the order they came
};

} // namespace mdist
