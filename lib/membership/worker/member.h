// SPDX-License-Identifier: Apache-2.0
// Member: a worker's side of a job, as a state machine.
//
//   ASKING --the store has written a generation; all of its members are connected--> READY
//      ^                                                                               |
//      '--ask(), in an elastic job-- FAILED <-------- a worker is lost, or leaves -----'
//
//   ENDED: turned away, too late, or left. Final.
//
// It joins at the store, is told the next generation, connects with its neighbors (mesh.h), and reports that. It is in
// the generation when the store says GO. While ASKING it needs the store: if that is lost, or says that a worker was
// lost, it joins again. While READY it does not.
//
// In a job of fixed size, the connection with the store only shows that this worker is alive, and FAILED is final. In
// an elastic job the member sends heartbeats to the store for its whole life, and connects again if it loses it. Each
// generation has its own session, its own key and its own connections, so whatever comes from an older one is dropped.
// One thread at a time, with the exceptions in peers.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "membership/protocol/dialer.h"
#include "membership/protocol/generation.h"
#include "membership/worker/data_sockets.h"
#include "membership/worker/mesh.h"
#include "membership/worker/peers.h"

namespace mdist {

class Member final : public Machine {
  public:
    enum class State { kIdle, kAsking, kReady, kFailed, kEnded };

    Member(World &world, MembershipOptions options, std::vector<Endpoint> store);

    void accepted(ConnectionId connection, const std::string &host) override;
    void connected(ConnectionId connection) override;
    std::size_t wanted(ConnectionId connection) const override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection, int error) override;
    void datagram(std::string_view bytes) override;
    void tick() override;
    uint64_t next_tick_ns() const override;

    /// Leaves the current generation, if any, and asks for the next. `held`: the commits that this worker has parts of.
    /// It must not work in the generation any more. Not once ENDED, and only once in a job of fixed size. It waits for
    /// `limit_ns`, and would leave the job if `leaves`. If an elastic job's generation comes whose members cannot all
    /// be connected, the wait for the one after it begins anew.
    void ask(Holdings held, uint64_t limit_ns, bool leaves = false);
    /// When it gives up, while ASKING.
    uint64_t deadline_ns() const { return deadline_ns_; }

    State state() const;
    /// Why it is FAILED or ENDED.
    std::optional<Failure> failure() const;
    /// The generation that is or was READY last; number 0 before the first.
    const Generation &generation() const { return generation_; }
    uint32_t rank() const { return options_.rank; }
    /// For messages: this worker's name, and whom it waits for while ASKING.
    std::string name() const;
    std::string awaited() const;
    bool has_peers() const { return peers_ != nullptr; }
    /// Only with peers: while READY, or FAILED after it.
    Peers &peers() { return *peers_; }
    DataSockets &sockets() { return *sockets_; }
    /// Leaves the job. The state is ENDED from then on.
    void leave();

    // ---- Only in an elastic job

    /// This worker has marked a commit. The store hears it.
    void note_commit();
    /// Takes the question back. The worker stays connected with the store, as a newcomer that is not ready.
    void withdraw();

    // As the store said last:

    /// How many workers wait to enter.
    uint32_t newcomers() const { return newcomers_; }
    /// Whether a member is to leave.
    bool any_leaves() const { return any_leaves_; }
    /// The newest generation if this worker is no member of it, else 0. None: it said nothing yet.
    std::optional<uint32_t> without_me() const { return without_me_; }
    /// Whether the first generation was formed without this worker, which has asked for it and is a newcomer now.
    bool passed_over() const { return asking_ && !mesh_ && generation_.number == 0 && without_me_.value_or(0) != 0; }

  private:
    bool is_elastic() const { return options_.elastic_id != 0; }
    WorkerId id() const { return is_elastic() ? options_.elastic_id : WorkerId{options_.rank} + 1; }
    Dial dial_store();
    void receive_from_store(std::string_view bytes);
    void heard_store(const ControlFrame &frame);
    void hear_progress(const ControlFrame &frame);
    void hear_news(const ControlFrame &frame);
    void lose_store(const std::string &problem);
    void lose_connection();
    void send_to_store(FrameKind kind, const std::string &payload);
    void send_ask();
    void send_heartbeat() { send_to_store(FrameKind::kHeartbeat, PayloadWriter().number(uint8_t{has_commit_}).take()); }
    void generation_came(const std::string &payload);
    void excerpt_came(const std::string &payload);
    void connect(Generation next, uint32_t rank, Roster roster);
    void go();
    void report_if_meshed();
    void report_if_stuck();
    void leave_generation();
    void drop_peers();
    void arrived(Guest guest);
    void end(Failure failure);
    bool online() const;
    WorkerId missed() const;
    void tend_store(uint64_t now);
    void wait_anew();
    std::string name_of(uint32_t rank) const;
    std::string missing_names() const;
    std::string store_name() const;
    Failure too_late() const;
    Failure job_not_formed() const;

    World &world_;
    MembershipOptions options_;
    const bool store_is_near_; // only workers of this host can reach its address
    uint64_t interval_ns_;
    std::optional<Endpoint> listens_; // from the first connection with the store on
    Lobby lobby_;
    Dialer store_;
    bool reached_store_ = false; // it has accepted a connection
    uint64_t heard_store_ns_ = 0;
    uint64_t next_heartbeat_ns_ = UINT64_MAX;
    uint32_t newcomers_ = 0;
    bool any_leaves_ = false;
    bool has_commit_ = false; // has marked one
    std::optional<uint32_t> without_me_;
    std::string progress_;          // of a job of fixed size, as the store said last; empty: not since it joined
    std::vector<uint32_t> missing_; // the same
    std::string missed_;            // for messages: the worker that was missing when it last joined again
    bool ended_ = false;

    bool asking_ = false;
    Ask ask_; // its limit is that of each wait for a generation
    uint64_t deadline_ns_ = UINT64_MAX;
    Generation next_;                // that is being connected
    std::unique_ptr<Mesh> mesh_;     // of next_
    bool reported_ = false;          // that all are connected
    uint64_t stuck_ns_ = UINT64_MAX; // when to report those that cannot be connected

    Generation generation_;
    std::unique_ptr<Peers> peers_;         // of generation_
    std::unique_ptr<DataSockets> sockets_; // the same
    std::optional<Failure> failure_;       // ended_, or the generation failed before there were peers
};

} // namespace mdist
