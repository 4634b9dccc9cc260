// SPDX-License-Identifier: Apache-2.0
// Mesh: connects a worker with its neighbors in a session (neighbors.h). The higher rank connects to the lower. A
// connection that ends before its peer was told GO is made again. Pure state; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "membership/protocol/dialer.h"
#include "membership/protocol/lobby.h"
#include "membership/protocol/options.h"

namespace mdist {

/// The control connection with a neighbor.
struct Peer {
    ConnectionId connection = 0; // 0: has ended since the peer was told GO
    std::optional<Channel> channel = {};
    std::vector<ControlFrame> early = {}; // what it said before this worker was told GO
    std::size_t early_bytes = 0;          // their payloads
};

/// A session and its connections.
struct Formed {
    SessionId session = {};
    Digest pulse = {};              // names the session in datagrams if there is no secret
    Roster roster;                  // knows at least the neighbors
    std::map<uint32_t, Peer> peers; // by rank: the neighbors that are connected
};

class Mesh {
  public:
    /// `options`: with this worker's rank in the session and its size; must outlive the mesh. `session`: without peers.
    Mesh(World &world, const MembershipOptions &options, Formed session);

    bool has(ConnectionId connection) const;
    std::size_t wanted(ConnectionId connection) const;
    void connected(ConnectionId connection);
    void received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection, int error);
    /// A higher rank of this session has connected.
    void arrived(Guest guest);
    void tick();
    uint64_t next_tick_ns() const;

    bool complete() const { return formed_.peers.size() == neighbors_.size(); }
    /// The neighbors without a connection to this worker.
    std::vector<uint32_t> missing() const;
    /// The lowest of them, if any, and why there is no connection.
    std::optional<uint32_t> unconnected() const;
    std::string obstacle(uint32_t rank) const;
    const SessionId &session() const { return formed_.session; }
    const Roster &roster() const { return formed_.roster; }
    /// Hands over the connections. Only once complete.
    Formed take() { return std::move(formed_); }
    /// Closes all connections.
    void give_up();

  private:
    void dial(uint32_t rank);
    std::optional<uint32_t> peer_of(ConnectionId connection) const;
    void heard_dialed(uint32_t rank, const ControlFrame &frame);
    void receive_peer(uint32_t rank, std::string_view bytes);
    void accept(uint32_t rank, ConnectionId connection, Channel channel);
    void ended(uint32_t rank);
    void lose(uint32_t rank);

    World &world_;
    const MembershipOptions &options_;
    const std::vector<uint32_t> neighbors_;
    std::string key_;
    std::map<uint32_t, Dialer> dialers_; // to lower ranks, until they are peers
    Formed formed_;
};

} // namespace mdist
