// SPDX-License-Identifier: Apache-2.0
// Store: the meeting point of a job's workers, as a state machine. It holds a connection with each of them, and leads
// them through a generation's beginning:
//
//   OPEN --the next generation is written, and sent to its members--> MESHING --all are connected: GO to all--> READY
//
// What a kind of job decides for itself is in the classes derived from this one: who is let in, when the next
// generation begins, and what the loss of a worker means. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "membership/protocol/generation.h"
#include "membership/protocol/lobby.h"

namespace mdist {

/// 'the job "run7"'
std::string job_text(const std::string &name);

class Store : public Machine {
  public:
    enum class State { kOpen, kMeshing, kReady, kFailed };

    void accepted(ConnectionId connection, const std::string &host) override;
    void connected(ConnectionId) override {}
    std::size_t wanted(ConnectionId connection) const override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection, int error) override;

    State state() const { return state_; }
    /// The newest generation; number 0 if there is none.
    const Generation &generation() const { return generation_; }
    /// How many workers have joined, or how many members are connected.
    virtual uint32_t joined() const = 0;
    /// The same, and who is missing, in words.
    virtual std::string progress() const = 0;

  protected:
    /// A worker that has been let in, for as long as its connection lives.
    struct Worker {
        uint32_t rank; // as its launcher gave it; in an elastic job it counts only in the first generation
        Joining said;
        Channel channel;
        bool asked = false; // for the next generation
        Holdings held = {};
        bool meshed = false;
        bool reported = false; // meshed, or unable to
        std::set<uint32_t> unreachable = {};
    };
    using Workers = std::map<ConnectionId, Worker>; // in the order they came

    Store(World &world, const std::string &secret);

    /// A worker has proved itself. `joining`: with the host that the store sees, if it has told none.
    virtual void join(Guest guest, Joining joining) = 0;
    virtual void heard(ConnectionId connection, Worker &worker, const ControlFrame &frame) = 0;
    /// Its connection has ended, and it is not among the workers any more.
    virtual void lost(const Worker &worker) = 0;
    /// Decides what comes next, after something has changed.
    virtual void look() = 0;

    Worker &let_in(Guest guest, Joining joining, std::size_t most_payload);
    void drop(ConnectionId connection);
    void refuse(ConnectionId connection, Channel &channel, const Failure &failure);
    void send(ConnectionId connection, Worker &worker, FrameKind kind, const std::string &payload);
    void send_to_members(FrameKind kind, const std::string &payload);
    /// The next generation, of these workers by rank.
    Generation next_generation(const std::vector<ConnectionId> &members, uint32_t replicas,
                               const std::optional<CommitId> &resume);
    /// Makes it the newest one, for which all are to be connected. Returns the one before.
    Generation begin(Generation next);
    void set_members();
    /// A worker says that it is connected with its neighbors, or with whom it is not.
    void meshed(Worker &worker, const ControlFrame &frame);
    bool is_member(WorkerId id) const { return members_.count(id) != 0; }
    bool all_meshed() const;
    Workers::iterator find(WorkerId id);
    Workers::const_iterator find(WorkerId id) const;

    World &world_;
    State state_ = State::kOpen;
    Generation generation_;
    std::set<WorkerId> members_; // of generation_
    Lobby lobby_;
    Workers workers_;
};

} // namespace mdist
