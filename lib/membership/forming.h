// SPDX-License-Identifier: Apache-2.0
// Forming: brings a worker into a session. The worker
//   1. joins at the store,
//   2. connects with every other worker (the higher rank connects to the lower),
//   3. reports that to the store, and
//   4. is in the session when the store says GO.
// After any problem that is not final it starts over, until the deadline. Pure state; one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "membership/dialer.h"
#include "membership/lobby.h"
#include "membership/options.h"

namespace mdist {

/// The control connection with another worker.
struct Peer {
    ConnectionId connection = 0;
    std::optional<Channel> channel;
    std::vector<ControlFrame> early; // what it said before this worker was told GO
};

/// The result of forming: a session and its connections.
struct Formed {
    SessionId session = {};
    Digest pulse = {};            // names the session in datagrams if there is no secret
    std::vector<Endpoint> roster; // by rank
    std::vector<Peer> peers;      // by rank; the entry of this worker is empty
};

class Forming {
  public:
    Forming(World &world, const MembershipOptions &options, Lobby &lobby, std::vector<Endpoint> store,
            uint64_t deadline_ns);

    bool has(ConnectionId connection) const;
    std::size_t wanted(ConnectionId connection) const;
    void connected(ConnectionId connection);
    void received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection, int error);
    void arrived(Guest guest);
    void tick();
    uint64_t next_tick_ns() const;

    /// Describes in words whom it waits for.
    std::string awaited() const;
    bool complete() const { return complete_; }
    const std::optional<Failure> &failure() const { return failure_; }
    /// Returns the result. Only once complete. The connection with the store stays open, to show that this worker is
    /// alive.
    Formed take() { return std::move(formed_); }
    /// Closes the connections with other workers that it has made so far.
    void give_up();
    /// `well`: this worker leaves of its own accord, not because of a failure.
    void leave_store(bool well);

  private:
    void heard_store(const ControlFrame &frame);
    void roster_came(const ControlFrame &frame);
    void heard_dialed(uint32_t rank, const ControlFrame &frame);
    void receive_peer(uint32_t rank, std::string_view bytes);
    std::optional<uint32_t> peer_of(ConnectionId connection) const;
    Dialer *dialer_of(ConnectionId connection);
    const Dialer *dialer_of(ConnectionId connection) const;
    void peer_lost(uint32_t rank);
    void watch(ConnectionId connection);
    void report_if_meshed();
    void start_over(const std::string &problem);
    std::optional<uint32_t> unconnected() const;
    std::string obstacle(uint32_t rank) const;
    std::string missing_names() const;
    Failure timed_out() const;

    World &world_;
    const MembershipOptions &options_;
    Lobby &lobby_;
    uint64_t deadline_ns_;
    Dialer store_;
    bool reached_store_ = false; // it has accepted a connection
    bool joined_ = false;
    bool has_roster_ = false;
    bool reported_ = false;
    bool complete_ = false;
    std::string progress_;               // as the store last reported
    std::vector<uint32_t> missing_;      // as the store last reported
    std::map<uint32_t, Dialer> dialers_; // to lower ranks, until they are peers
    std::string missed_; // for messages: the worker that was missing when it last started over
    Formed formed_;
    std::optional<Failure> failure_;
};

} // namespace mdist
