// SPDX-License-Identifier: Apache-2.0
// Store: where the workers of a job meet, as a state machine.
//
//   GATHERING --all have joined: roster to all--> MESHING --all are connected with all: GO to all--> READY
//       ^------------------------------ a worker is lost or leaves -----------------------------------'
//
// A worker keeps its connection to the store for as long as it is in the session. While it is READY, whoever comes is
// stale; when one has left, whoever comes belongs to the session after it. Workers of the session that has ended lose
// their connections to the store, which means something only to those that are not READY: they join again.
// One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/membership/lobby.h"

namespace mdist {

inline constexpr std::size_t kMostAgreementBytes = 64 * 1024;
inline constexpr std::size_t kMostBlobBytes = 64 * 1024;

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

    /// Awaits the workers of another start; sends those of the one before away.
    void restart(uint32_t size, uint32_t restart);
    std::vector<uint32_t> missing() const;
    /// "2 of 4 workers have joined; missing: 1, 3 (refused: ...)"
    std::string progress() const;
    uint32_t joined() const { return static_cast<uint32_t>(members_.size()); }

  private:
    enum class State { kGathering, kMeshing, kReady };
    struct Member {
        uint32_t rank;
        Endpoint listens;
        std::string agreement;
        bool meshed;
        Channel channel;
    };
    void join(Guest guest);
    std::optional<Failure> objection(const Guest &guest, const std::string &agreement) const;
    void send_away_who_differs(const std::string &chief_host, const std::string &agreement);
    const Member *member(uint32_t rank) const;
    void refuse(Guest &guest, const Failure &failure);
    void send(ConnectionId connection, Member &member, FrameKind kind, const std::string &payload);
    void send_to_all(FrameKind kind, const std::string &payload);
    std::optional<Failure> split_by_loopback() const;
    void complete();
    void heard(ConnectionId connection, Member &member, const ControlFrame &frame);
    void lost(ConnectionId connection);
    void end_session(const std::string &why);

    World &world_;
    StoreOptions options_;
    State state_ = State::kGathering;
    SessionId session_ = {};
    Lobby lobby_;
    std::map<ConnectionId, Member> members_;
    std::map<uint32_t, std::string> refused_; // by the rank claimed: why, lately
    uint64_t tell_progress_ns_ = UINT64_MAX;
};

bool is_loopback(const std::string &numeric_host);
/// The lines of two texts that are not in both, for a sentence: "`a = 1` there, `a = 2` here".
std::string differing_lines(const std::string &there, const std::string &here);

} // namespace mdist
