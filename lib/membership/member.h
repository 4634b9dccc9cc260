// SPDX-License-Identifier: Apache-2.0
// Member: a worker's side of membership, as a state machine: FORMING, READY, FAILED, CLOSED (membership.h). First
// Forming does the work, then Peers and DataSockets. One Lobby takes the connections that others make to this worker.
// One thread at a time, with the exceptions in peers.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "membership/data_sockets.h"
#include "membership/forming.h"
#include "membership/peers.h"

namespace mdist {

class Member final : public Machine {
  public:
    enum class State { kForming, kReady, kFailed, kClosed };

    /// `options` must outlive the member. The member fails if it is not READY by the deadline.
    Member(World &world, const MembershipOptions &options, std::vector<Endpoint> store, uint64_t deadline_ns);

    void accepted(ConnectionId connection, const std::string &host) override;
    void connected(ConnectionId connection) override;
    std::size_t wanted(ConnectionId connection) const override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection, int error) override;
    void datagram(std::string_view bytes) override;
    void tick() override;
    uint64_t next_tick_ns() const override;

    State state() const;
    /// For messages: this worker's name, and whom it waits for while it is FORMING.
    std::string name() const { return worker_name(options_, {}, options_.rank); }
    std::string awaited() const { return forming_.awaited(); }
    /// Why it is FAILED.
    std::optional<Failure> failure() const;
    /// Whether it has been READY. It may have failed since then.
    bool formed() const { return peers_ != nullptr; }
    /// Only from READY on.
    Peers &peers() { return *peers_; }
    DataSockets &sockets() { return *sockets_; }
    /// Says goodbye to all other workers. The state is CLOSED from then on.
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
