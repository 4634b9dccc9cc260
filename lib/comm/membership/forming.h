// SPDX-License-Identifier: Apache-2.0
// Forming: how a worker gets into a session: it joins at the store, connects with every other worker (the higher rank
// calls the lower), says so to the store, and is in when the store says GO. Whatever goes wrong on the way, and is not
// final, makes it start over until the deadline. Pure state; one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/membership/dialer.h"
#include "comm/membership/lobby.h"

namespace mdist {

/// A control connection.
struct Peer {
    ConnectionId connection = 0;
    std::optional<Channel> channel;
};

/// What forming ends in.
struct Formed {
    SessionId session = {};
    std::vector<Endpoint> roster;                         // by rank
    std::vector<Peer> peers;                              // by rank; empty at this worker's
    std::vector<std::pair<uint32_t, ControlFrame>> early; // what peers that were told GO earlier have said
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

    bool complete() const { return complete_; }
    const std::optional<Failure> &failure() const { return failure_; }
    /// Once complete. The connection with the store stays, to say that this worker is there.
    Formed take() { return std::move(formed_); }
    /// What was connected on the way.
    void give_up();
    void leave_store();

  private:
    void heard_store(const ControlFrame &frame);
    void roster_came(const ControlFrame &frame);
    void store_lost(const std::string &problem);
    void heard_dialed(uint32_t rank, const ControlFrame &frame);
    void receive_peer(uint32_t rank, std::string_view bytes);
    std::optional<uint32_t> peer_of(ConnectionId connection) const;
    Dialer *dialer_of(ConnectionId connection);
    const Dialer *dialer_of(ConnectionId connection) const;
    void peer_lost(uint32_t rank);
    void report_if_meshed();
    void start_over(const std::string &problem);
    Failure timed_out() const;

    World &world_;
    const MembershipOptions &options_;
    Lobby &lobby_;
    uint64_t deadline_ns_;
    Dialer store_;
    bool joined_ = false;
    bool has_roster_ = false;
    bool reported_ = false;
    bool complete_ = false;
    std::string progress_;               // as the store last told
    std::vector<uint32_t> missing_;      // likewise
    std::map<uint32_t, Dialer> dialers_; // to lower ranks, until they are peers
    Formed formed_;
    std::optional<Failure> failure_;
};

/// "worker 1 (10.0.0.2:4400)", from the names, else the roster, else the rank alone.
std::string worker_name(const MembershipOptions &options, const std::vector<Endpoint> &roster, uint32_t rank);
/// What this worker says first, but for the nonce.
Hello hello_of(const MembershipOptions &options, Role role);
/// The key of handshakes between the workers of a session.
std::string peer_key(const MembershipOptions &options, const SessionId &session);
/// "10 s", "0.5 s"
std::string seconds_text(uint64_t ns);

} // namespace mdist
