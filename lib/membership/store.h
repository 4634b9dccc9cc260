// SPDX-License-Identifier: Apache-2.0
// Store: the meeting point of a job's workers, as a state machine.
//
//   GATHERING --all have joined: roster to all--> MESHING --all are connected with all: GO to all--> READY
//       ^------------------------------ a worker is lost or leaves -----------------------------------'
//
// A worker keeps its connection to the store for as long as it is in the session. The session ends when one of them
// leaves. A worker that comes while there is a session is stale; one that comes later belongs to the next session. A
// worker that leaves and comes back at once may arrive before the end of its old connection. So a worker that comes
// during a session waits kLateNs for the session's end before it is refused.
//
// When a session ends, the store closes its connections with all workers. Only workers that are not READY mind: they
// join again. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "membership/lobby.h"
#include "membership/options.h"

namespace mdist {

/// Longer than the kernel waits before it sends a lost packet again.
inline constexpr uint64_t kLateNs = 300'000'000;

struct StoreOptions {
    uint32_t size = 1;
    uint32_t restart = 0;
    std::string job;
    std::string secret;
};

class Store final : public Machine {
  public:
    Store(World &world, StoreOptions options);

    void accepted(ConnectionId connection, const std::string &host) override;
    void connected(ConnectionId) override {}
    std::size_t wanted(ConnectionId connection) const override;
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection, int error) override;
    void tick() override;
    uint64_t next_tick_ns() const override;

    /// Waits for the workers of the next start, and sends those of the start before away.
    void restart(uint32_t size, uint32_t restart);
    std::vector<uint32_t> missing() const;
    /// "2 of 4 workers have joined; missing: 1, 3 (refused: ...)"
    std::string progress() const;
    uint32_t joined() const { return static_cast<uint32_t>(members_.size()); }
    /// The worker whose goodbye ended the last session. -1 if it ended otherwise, or once a new session has a roster.
    uint32_t first_gone() const { return first_gone_; }

  private:
    enum class State { kGathering, kMeshing, kReady };
    struct Member {
        uint32_t rank;
        Endpoint listens;
        std::string agreement, run;
        bool meshed;
        Channel channel;
    };
    /// A worker that came while there was a session.
    struct Late {
        Guest guest;
        uint64_t until_ns;
    };
    void join(Guest guest);
    /// What a guest says with its proof.
    struct Joining {
        Endpoint listens;
        std::string agreement, run;
    };
    static std::optional<Joining> read(const Guest &guest);
    std::optional<Failure> not_of_this_start(const Guest &guest) const;
    std::optional<Failure> objection(const Guest &guest, const Joining &joining) const;
    void note_refused(uint32_t rank, const std::string &why);
    void keep_waiting(Guest guest);
    void refuse_late(Guest &guest);
    void send_away_who_differs(const Joining &chief);
    const Member *member(uint32_t rank) const;
    void refuse(Guest &guest, const Failure &failure);
    void send(ConnectionId connection, Member &member, FrameKind kind, const std::string &payload);
    void send_to_all(FrameKind kind, const std::string &payload);
    std::optional<Failure> split_by_loopback() const;
    void complete();
    void heard(ConnectionId connection, Member &member, const ControlFrame &frame);
    void lost(ConnectionId connection, bool left = false);
    void end_session(const std::string &why, uint32_t gone = MDIST_NONE);

    World &world_;
    StoreOptions options_;
    State state_ = State::kGathering;
    SessionId session_ = {};
    uint32_t first_gone_ = MDIST_NONE;
    Lobby lobby_;
    std::map<ConnectionId, Member> members_;
    std::map<ConnectionId, Late> late_;       // in the order they came; empty while GATHERING
    std::map<uint32_t, std::string> refused_; // by the claimed rank: why it was last refused
    uint64_t tell_progress_ns_ = UINT64_MAX;
};

bool is_loopback(const std::string &numeric_host);

} // namespace mdist
