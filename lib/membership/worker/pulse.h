// SPDX-License-Identifier: Apache-2.0
// Pulse: a second path by which a worker learns that another is alive.
//
// After an outage TCP sends again only when its timer fires, and that timer doubles with every attempt. So a connection
// may stay silent for as long again as the outage lasted. A worker that hears nothing on a control connection therefore
// asks by datagram, which no timer delays. The other worker's thread answers.
//
//   magic 4 | asks 1 | from 4 | to 4 | asked at 8 | proof 32
//
// A question carries the asker's time, and the answer returns it. So an answer shows that the other worker was alive at
// that time, even if someone repeats or delays the datagram. A question shows nothing, and is answered once. The proof
// shows that the sender is in the session. It is an HMAC or, if there is no secret, an id of the session that serves
// only this purpose and is never told to strangers.
//
// Workers at the same address have no network between them and need no pulse. Workers that could not open the port are
// not asked, since it may belong to another program. Pure state; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "membership/net/world.h"
#include "membership/protocol/options.h"
#include "membership/protocol/secret.h"

namespace mdist {

/// Length of a pulse datagram.
inline constexpr std::size_t kPulseBytes = 53;

class Pulse {
  public:
    /// `roster` must outlive this object.
    Pulse(World &world, const MembershipOptions &options, const SessionId &session, const Digest &id,
          const Roster &roster);

    /// Whether there is a network between this worker and the other, and the other takes datagrams.
    bool reaches(uint32_t rank) const;
    void ask(uint32_t rank) { send(rank, true, world_.now_ns()); }
    struct SignOfLife {
        uint32_t rank;
        uint64_t at_ns; // when it was alive, by this worker's clock
    };
    /// Returns the sign of life in a datagram, if it is an answer. Answers it if it is a question.
    std::optional<SignOfLife> heard(std::string_view datagram);

  private:
    void send(uint32_t rank, bool asks, uint64_t asked_at_ns);
    Digest proof(std::string_view said) const;

    World &world_;
    const uint32_t self_;
    const Digest id_;
    const std::string key_;
    const Roster &roster_;
    std::map<uint32_t, uint64_t> answered_; // by rank: the time in its last question that was answered
};

} // namespace mdist
