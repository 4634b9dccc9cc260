// SPDX-License-Identifier: Apache-2.0
// Member: a worker's side of membership as one state machine: FORMING, READY, FAILED, CLOSED (membership.h). It is made
// of Forming, then Peers and DataSockets, behind one Lobby for those that connect to this worker. One thread at a time,
// but for what Peers says of itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/membership/data_sockets.h"
#include "comm/membership/forming.h"
#include "comm/membership/peers.h"

namespace mdist {

class Member final : public Machine {
  public:
    enum class State { kForming, kReady, kFailed, kClosed };

    /// `options` stay for as long as the member. It must be READY by the deadline.
    Member(World &world, const MembershipOptions &options, std::vector<Endpoint> store, uint64_t deadline_ns);

    void accepted(ConnectionId connection, const std::string &host) override;
    void connected(ConnectionId connection) override;
    std::size_t wanted(ConnectionId connection) const override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection, int error) override;
    void tick() override;
    uint64_t next_tick_ns() const override;

    State state() const;
    /// Why it is FAILED, or could not be formed.
    std::optional<Failure> failure() const;
    /// From READY on.
    Peers &peers() { return *peers_; }
    DataSockets &sockets() { return *sockets_; }
    /// CLOSED: says goodbye to all.
    void leave();

  private:
    void arrived(Guest guest);
    void go_on();

    World &world_;
    const MembershipOptions &options_;
    Lobby lobby_;
    Forming forming_;
    std::unique_ptr<Peers> peers_;
    std::unique_ptr<DataSockets> sockets_;
    bool closed_ = false;
};

} // namespace mdist
