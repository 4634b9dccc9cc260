// SPDX-License-Identifier: Apache-2.0
// Peers: the other workers of a session that is READY. Handles heartbeats, exchanges, departures, and the first
// failure, which it tells to all workers. Pure state; one thread at a time, except set_entered().
//
// A worker is connected with its neighbors (neighbors.h). What it says to all, they pass on. In a session of up to
// kAllConnected workers all are neighbors, and nothing is passed on. Others are called large here.
//
// Heartbeats. Each carries the number of operations entered, and one goes to each neighbor every min(1 s, timeout /
// 10), but not more often than every 1 ms. That is enough, since one loss ends the session, and so one witness is
// enough.
//
// Losses. A neighbor that is silent for two intervals is asked for a sign of life on another path (pulse.h), four times
// in each interval. One that is silent on both paths for longer than the timeout is lost. One whose connection ends
// without a goodbye is lost at once. If this process itself did not run for a while (stopped, or on a paused machine),
// every neighbor gets that much more time. Whoever hears of a failure tells its neighbors, so the news goes around the
// lost worker.
//
// Departures. A worker that says goodbye fails the job only when another worker enters an operation that it did not
// enter, or exchanges or connects. The worker that fails for this reason counts as departed in the same way. So the
// workers finish every operation that all have entered, even if some hear of the failure of the next one first. In a
// large session, a goodbye is passed on at once if nobody is known to have left earlier: that is enough to know that an
// operation will not come about. The others are passed on with the next heartbeat. A worker whose neighbors have all
// left hears nothing more.
//
// Announcements. A worker that waits for others says how many operations it has entered, so that all can name those
// that are behind. In a large session worker 0 gathers what is announced, and tells all with its next heartbeat.
//
// The roster. In a large session of a job of fixed size, only worker 0 knows at first where all listen. It tells the
// others at once. Before a worker has heard it, it knows only its neighbors' addresses. It never hears it if the one
// that was to pass it on has left before.
//
// Exchanges. Each worker's blob goes to worker 0, which sends all of them to all. So worker 0 knows who is missing. It
// tells all when it begins, so that nobody takes it for the one that is late.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "membership/worker/mesh.h"
#include "membership/worker/pulse.h"
#include "util/function_ref.h"

namespace mdist {

class Peers {
  public:
    Peers(World &world, const MembershipOptions &options, Formed formed);

    bool has(ConnectionId connection) const { return by_connection_.count(connection) != 0; }
    std::size_t wanted(ConnectionId connection) const;
    void received(ConnectionId connection, std::string_view bytes);
    void closed(ConnectionId connection, int error);
    void heard_datagram(std::string_view bytes);
    void tick();
    uint64_t next_tick_ns() const { return failure_ ? UINT64_MAX : next_tick_ns_; }

    const SessionId &session() const { return session_; }
    const Roster &roster() const { return roster_; }
    std::string name(uint32_t rank) const { return worker_name(options_, roster_, rank); }
    /// What a data connection must show; none until worker 0 has told it. It is never told to the store.
    const std::optional<Digest> &key() const { return key_; }

    const std::optional<Failure> &failure() const { return failure_; }
    /// Sets the failure and tells the others. Does nothing if there was a failure before.
    void fail(const Failure &cause) noexcept;
    /// Says goodbye to all, unless the job has failed, and closes the connections.
    void leave();

    /// Gives this worker's blob. Returns the number of the exchange.
    uint64_t begin_exchange(const std::string &blob);
    bool exchanged(uint64_t number) const { return tables_.count(number) != 0; }
    std::vector<std::string> take_exchange(uint64_t number);
    /// Returns a worker that it waits for: at worker 0 the first whose blob has not come, elsewhere the first of those
    /// whose blobs come through this worker, else worker 0. Only before exchanged().
    uint32_t awaited(uint64_t number) const;

    /// Whether worker 0 waits in that exchange, too.
    bool chief_waits(uint64_t number) const { return chief_began_ >= number; }

    /// Sends a notice to all.
    void tell(const std::string &notice);
    /// What other workers have told since the last call. What one of them has told is in order.
    using Notices = std::vector<std::pair<uint32_t, std::string>>;
    Notices take_notices() { return std::exchange(notices_, {}); }

    /// Sets how many operations this worker has entered. Returns true if a worker has left before that operation; then
    /// call missed(). Any thread.
    bool set_entered(uint64_t sequence) noexcept {
        // This stores entered_ and then loads first_departure_. departed() stores first_departure_ and then loads
        // entered_. All four are sequentially consistent, so at least one of the two notices the other.
        entered_.store(sequence, std::memory_order_seq_cst);
        return sequence > first_departure_.load(std::memory_order_seq_cst);
    }
    /// As far as this worker knows; of others than neighbors it knows it only if they have announced it.
    uint64_t entered(uint32_t rank) const;
    /// Whether that worker is known to have left.
    bool left(uint32_t rank) const { return departed_.count(rank) != 0; }
    /// Tells all how many operations this worker has entered.
    void announce();
    /// Fails if a worker has left before it entered that operation, or began the exchange that is under way.
    void missed(uint64_t sequence) noexcept;
    /// Fails if that worker is known to have left.
    void need(uint32_t rank) noexcept;

  private:
    struct Neighbor {
        Peer peer;
        uint64_t heard_ns = 0;
    };
    /// Of a worker that enters no more operations.
    struct Departure {
        uint64_t entered = 0;            // operations, which it finishes
        uint64_t exchanges = 0;          // the same
        std::optional<Failure> why = {}; // its failure, if it left because another worker had left
    };
    void heard(uint32_t from, const ControlFrame &frame);
    void heard_roster(uint32_t from, const std::string &table);
    void heard_key(uint32_t from, const std::string &payload);
    void heard_notice(uint32_t from, const std::string &payload);
    void heard_entered(uint32_t from, const std::string &payload);
    void heard_goodbye(uint32_t from, std::string_view payload);
    void heard_blob(uint32_t from, const std::string &payload);
    void heard_table(uint32_t from, const std::string &payload);
    void complete(uint64_t number);
    void end_of_connection(uint32_t rank, int error);
    void broke_protocol(uint32_t rank);
    void send(uint32_t rank, FrameKind kind, const std::string &payload);
    void send(uint32_t rank, FunctionRef<std::string(Channel &)> pack);
    void send_to(const std::vector<uint32_t> &ranks, FrameKind kind, const std::string &payload);
    void send_to_neighbors(FrameKind kind, const std::string &payload, uint32_t but = UINT32_MAX);
    void tell_announced();
    void tell_departures();
    void drop(uint32_t rank);
    static std::string goodbye(uint32_t rank, const Departure &departure);
    bool look_after(uint32_t rank, uint64_t now, uint64_t slept_ns);
    void departed(uint32_t rank, Departure departure, uint32_t from);
    void end(const Failure &cause, uint64_t from = 0) noexcept;
    Failure for_others(const Failure &cause) const noexcept;
    Failure has_left(uint32_t rank) const noexcept;

    World &world_;
    const MembershipOptions &options_;
    SessionId session_;
    Roster roster_;
    Pulse pulse_;
    std::optional<Digest> key_;
    std::map<uint32_t, Neighbor> neighbors_; // by rank
    std::map<ConnectionId, uint32_t> by_connection_;
    std::map<uint32_t, uint64_t> entered_by_; // operations, as far as they are known
    std::set<uint32_t> announced_;            // at worker 0 of a large session: whom it has still to tell of
    std::map<uint32_t, Departure> departed_;
    std::vector<uint32_t> untold_; // in a large session: of these, those to tell of with the next heartbeat
    uint64_t first_missed_exchange_ = UINT64_MAX; // the fewest exchanges begun by a worker that has left
    std::optional<Failure> failure_;
    /// By exchange and rank: the blobs that have come. Other workers than 0 have sent them on, and keep no more than
    /// who gave one.
    std::map<uint64_t, std::map<uint32_t, std::string>> gathered_;
    std::map<uint64_t, std::vector<std::string>> tables_;
    uint64_t last_exchange_ = 0;
    uint64_t chief_began_ = 0; // the last exchange that worker 0 has begun, as far as this worker knows
    bool under_way_ = false;   // that exchange
    Notices notices_;
    uint64_t interval_ns_;
    uint64_t next_heartbeat_ns_;
    uint64_t next_tick_ns_;
    std::atomic<uint64_t> entered_{0};
    std::atomic<uint64_t> first_departure_{UINT64_MAX}; // the fewest operations entered by a worker that has left
};

} // namespace mdist
