// SPDX-License-Identifier: Apache-2.0
// Peers: the other workers of a session that is at work: heartbeats, exchanges, departures, and the first failure,
// which everybody is told. Pure state; one thread at a time, but for set_entered and entered_here.
//
// A heartbeat goes to every worker each min(1 s, timeout / 10) with the number of operations entered. Whoever is silent
// for longer than the timeout is lost; so is, at once, whose connection ends without a goodbye. If this process itself
// was not running for a while (stopped, a paused machine), everybody gets that much more time. A worker that says
// goodbye is missed only when somebody enters an operation that it did not, or exchanges or connects. So is one that
// misses it: what all have entered, they finish, though some hear of the failure of the next before that.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/membership/forming.h"

namespace mdist {

class Peers {
  public:
    Peers(World &world, const MembershipOptions &options, Formed formed);

    bool has(ConnectionId connection) const { return by_connection_.count(connection) != 0; }
    std::size_t wanted(ConnectionId connection) const;
    void received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection, int error);
    void tick();
    uint64_t next_tick_ns() const;

    const SessionId &session() const { return session_; }
    const std::vector<Endpoint> &roster() const { return roster_; }
    std::string name(uint32_t rank) const { return worker_name(options_, roster_, rank); }

    const std::optional<Failure> &failure() const { return failure_; }
    /// Unless there was one before. Tells the others.
    void fail(const Failure &cause);
    /// Says goodbye to all and closes.
    void leave();

    /// Sends this worker's blob; the number of the exchange.
    uint64_t begin_exchange(const std::string &blob);
    bool exchanged(uint64_t number) const;
    std::vector<std::string> take_exchange(uint64_t number);
    /// The first whose blob has not come; only before exchanged().
    uint32_t awaited(uint64_t number) const;

    /// Any thread. True: somebody has left before that operation, so call missed().
    bool set_entered(uint64_t sequence) noexcept {
        // In one order with a goodbye's counterparts, so that one of the two notices.
        entered_.store(sequence, std::memory_order_seq_cst);
        return sequence > first_departure_.load(std::memory_order_seq_cst);
    }
    uint64_t entered(uint32_t rank) const;
    /// A heartbeat out of turn.
    void announce();
    /// Fails if someone has left whom this worker needs now: always, or in operation number `sequence`.
    void missed(uint64_t sequence = UINT64_MAX);

  private:
    struct Other {
        Peer peer;
        uint64_t heard_ns = 0;
        uint64_t entered = 0;
        bool left = false;          // it takes part in what it has entered, and in no more
        std::optional<Failure> why; // if that is because of another that has left
    };
    using Blobs = std::vector<std::optional<std::string>>;
    void heard(uint32_t rank, const ControlFrame &frame);
    void heard_abort(uint32_t rank, std::string_view bytes);
    void heard_exchange(uint32_t rank, std::string_view payload);
    void broke_protocol(uint32_t rank);
    void send(uint32_t rank, FrameKind kind, const std::string &payload);
    void send_to_all(FrameKind kind, const std::string &payload);
    void drop(uint32_t rank);
    void departed(uint32_t rank, uint64_t entered, std::optional<Failure> why);
    void end(const Failure &cause, uint64_t from = 0);
    Failure for_others(const Failure &cause) const;

    World &world_;
    const MembershipOptions &options_;
    SessionId session_;
    std::vector<Endpoint> roster_;
    std::vector<Other> others_; // by rank, with an idle one for this worker
    std::map<ConnectionId, uint32_t> by_connection_;
    std::optional<Failure> failure_;
    std::map<uint64_t, Blobs> exchanges_;
    uint64_t last_exchange_ = 0;
    uint64_t interval_ns_;
    uint64_t next_heartbeat_ns_;
    std::atomic<uint64_t> entered_{0};
    std::atomic<uint64_t> first_departure_{UINT64_MAX}; // the smallest count of operations among those that have left
};

} // namespace mdist
