// SPDX-License-Identifier: Apache-2.0
// Peers: the other workers of a session that is READY. Handles heartbeats, exchanges, departures, and the first
// failure, which it tells to all workers. Pure state; one thread at a time, except set_entered().
//
// Heartbeats. Each carries the number of operations entered, and one goes out every min(1 s, timeout / 10), but not
// more often than every 1 ms. In a job of up to 33 workers they go to every worker. In a larger job they go to the
// workers whose ranks are 1, 2, 4, 8 ... away around the ring of ranks. That is enough, since one loss ends the job and
// so one witness is enough. If each of 256 workers of one host woke every other each second, they would do little else.
//
// Losses. A worker that is silent for two intervals is asked for a sign of life on another path (pulse.h), four times
// in each interval. A worker that is silent on both paths for longer than the timeout is lost. A worker whose
// connection ends without a goodbye is lost at once. If this process itself did not run for a while (stopped, or on a
// paused machine), every worker gets that much more time.
//
// Departures. A worker that says goodbye fails the job only when another worker enters an operation that it did not
// enter, or exchanges or connects. The worker that fails for this reason counts as departed in the same way. So the
// workers finish every operation that all have entered, even if some hear of the failure of the next one first.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "membership/forming.h"
#include "membership/pulse.h"

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
    const std::vector<Endpoint> &roster() const { return roster_; }
    std::string name(uint32_t rank) const { return worker_name(options_, roster_, rank); }

    const std::optional<Failure> &failure() const { return failure_; }
    /// Sets the failure and tells the others. Does nothing if there was a failure before.
    void fail(const Failure &cause) noexcept;
    /// Says goodbye to all, unless the job has failed, and closes the connections.
    void leave();

    /// Sends this worker's blob to all. Returns the number of the exchange.
    uint64_t begin_exchange(const std::string &blob);
    bool exchanged(uint64_t number) const;
    std::vector<std::string> take_exchange(uint64_t number);
    /// Returns the first rank whose blob has not come. Only before exchanged().
    uint32_t awaited(uint64_t number) const;

    /// Sends a notice to all.
    void tell(const std::string &notice);
    /// What other workers have told since the last call, in the order in which it came.
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
    uint64_t entered(uint32_t rank) const;
    /// Whether that worker has said goodbye.
    bool left(uint32_t rank) const { return others_[rank].left; }
    /// Sends a heartbeat to all now.
    void announce();
    /// Fails if a worker has left that this one needs now. By default it needs all workers; with `sequence` it needs
    /// those that have not entered that operation.
    void missed(uint64_t sequence = UINT64_MAX) noexcept;
    /// Fails if that worker has left.
    void need(uint32_t rank) noexcept;

  private:
    struct Other {
        Peer peer;
        uint64_t heard_ns = 0;
        uint64_t entered = 0;
        bool left = false;          // it finishes the operations it has entered, and enters no more
        std::optional<Failure> why; // its failure, if it left because another worker had left
    };
    using Blobs = std::vector<std::optional<std::string>>;
    void heard(uint32_t rank, const ControlFrame &frame);
    void heard_abort(uint32_t rank, std::string_view bytes);
    void heard_exchange(uint32_t rank, std::string_view payload);
    void broke_protocol(uint32_t rank);
    void send(uint32_t rank, FrameKind kind, const std::string &payload);
    void send_to_all(FrameKind kind, const std::string &payload);
    void drop(uint32_t rank);
    std::string heartbeat() const;
    bool look_after(uint32_t rank, uint64_t now, uint64_t slept_ns);
    void departed(uint32_t rank, uint64_t entered, std::optional<Failure> why);
    void end(const Failure &cause, uint64_t from = 0) noexcept;
    Failure for_others(const Failure &cause) const noexcept;
    Failure has_left(uint32_t rank) const noexcept;

    World &world_;
    const MembershipOptions &options_;
    SessionId session_;
    std::vector<Endpoint> roster_;
    Pulse pulse_;
    std::vector<Other> others_; // by rank; the entry of this worker is not used
    std::map<ConnectionId, uint32_t> by_connection_;
    std::optional<Failure> failure_;
    std::map<uint64_t, Blobs> exchanges_;
    Notices notices_;
    uint64_t last_exchange_ = 0;
    uint64_t interval_ns_;
    uint64_t next_heartbeat_ns_;
    uint64_t next_tick_ns_;
    std::vector<uint32_t> watched_; // the workers that this one exchanges heartbeats with
    std::atomic<uint64_t> entered_{0};
    std::atomic<uint64_t> first_departure_{UINT64_MAX}; // the fewest operations entered by a worker that has left
};

} // namespace mdist
