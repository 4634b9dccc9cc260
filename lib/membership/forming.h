// SPDX-License-Identifier: Apache-2.0
// Forming: brings a worker into a session. The worker
//   1. joins at the store,
//   2. connects with its neighbors (mesh.h),
//   3. reports that to the store, and
//   4. is in the session when the store says GO.
// After any problem that is not final it starts over, until the deadline. Pure state; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "membership/dialer.h"
#include "membership/lobby.h"
#include "membership/mesh.h"
#include "membership/options.h"

namespace mdist {

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
    Formed take() { return mesh_->take(); }
    /// Closes the connections with other workers that it has made so far.
    void give_up();
    /// `well`: this worker leaves of its own accord, not because of a failure.
    void leave_store(bool well);

  private:
    void heard_store(const ControlFrame &frame);
    void roster_came(const ControlFrame &frame);
    void receive_from_store(std::string_view bytes);
    void look_at_mesh();
    void start_over(const std::string &problem);
    std::string missing_names() const;
    Failure timed_out() const;

    World &world_;
    const MembershipOptions &options_;
    Lobby &lobby_;
    uint64_t deadline_ns_;
    Dialer store_;
    bool reached_store_ = false; // it has accepted a connection
    bool joined_ = false;
    bool reported_ = false;
    bool complete_ = false;
    std::string progress_;          // as the store last reported
    std::vector<uint32_t> missing_; // as the store last reported
    std::string missed_;            // for messages: the worker that was missing when it last started over
    std::unique_ptr<Mesh> mesh_;    // once there is a roster
    std::optional<Failure> failure_;
};

} // namespace mdist
