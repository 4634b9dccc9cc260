// SPDX-License-Identifier: Apache-2.0
// Dialer: makes one connection to a store or worker that may not be there yet. It connects and shakes hands. On any
// problem it starts over after a pause of 50 ms to 2 s, until its owner gives up.
//
// An attempt has 10 s, from the connect on, to get an answer to HELLO. Once this side has sent its proof, only the end
// of the connection counts as a problem, since the other side may have let it in already. The first frame after the
// handshake hands the connection to the owner. retry() takes it back. Pure state; one thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "membership/net/world.h"
#include "membership/protocol/handshake.h"

namespace mdist {

struct Dial {
    std::vector<Endpoint> to; // tried in turn
    std::string who;          // for messages: "the store at 10.0.0.1:4400"
    Hello hello;              // the dialer sets the nonce
    SessionId session = {};
    std::string key;
    std::size_t most_payload = 0;                       // of frames that the proven other side sends
    std::function<std::string(ConnectionId)> make_body; // makes the body of the PROOF; may be empty
};

class Dialer {
  public:
    Dialer(World &world, Dial dial);

    ConnectionId connection() const { return connection_; }
    Channel &channel() { return channel_; }
    const Channel &channel() const { return channel_; }
    bool done() const { return state_ == State::kDone; }
    /// Whether it is between two attempts, or before the first.
    bool pauses() const { return state_ == State::kPausing; }
    /// Whether the other side may have let it in already.
    bool may_be_in() const { return state_ >= State::kProving; }

    void connected();
    /// Takes bytes. Returns the frame that ends the handshake, of whatever kind. Throws UNAUTHENTICATED, CONFIG
    /// (`different_version`), and what make_body throws. After a throw it waits for the next attempt.
    std::optional<ControlFrame> received(std::string_view bytes);
    void closed(int error);
    /// Closes the connection and pauses.
    void retry(const std::string &problem);
    void give_up();
    void tick();
    uint64_t next_tick_ns() const { return next_ns_; }
    /// Why the last attempt failed, or "" if none has.
    const std::string &problem() const { return problem_; }

  private:
    enum class State { kPausing, kConnecting, kGreeting, kProving, kProven, kDone };
    void attempt();
    std::optional<ControlFrame> heard(ControlFrame frame);
    Failure of_another_version() const;
    const Endpoint &target() const { return dial_.to[attempts_ % dial_.to.size()]; }

    World &world_;
    Dial dial_;
    State state_ = State::kPausing;
    ConnectionId connection_ = 0;
    Channel channel_;
    std::optional<Caller> caller_;
    uint32_t attempts_ = 0;
    uint64_t next_ns_ = 0;
    std::string problem_;
};

} // namespace mdist
