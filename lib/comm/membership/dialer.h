// SPDX-License-Identifier: Apache-2.0
// Dialer: one connection to somebody who may not be there yet. It connects, shakes hands, and on any trouble starts
// over after a pause of 50 ms to 2 s, until its owner gives up. After the first frame that follows the handshake the
// connection is the owner's; only retry() makes it the dialer's again. Pure state; one thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/membership/handshake.h"
#include "comm/membership/world.h"

namespace mdist {

struct Dial {
    std::vector<Endpoint> to; // tried in turn
    std::string who;          // for messages: "the store at 10.0.0.1:4400"
    Hello hello;              // all but the nonce
    SessionId session = {};
    std::string key;
    std::size_t most_payload = 0;                       // of frames that come back
    std::function<std::string(ConnectionId)> make_body; // of the PROOF; may be empty
};

class Dialer {
  public:
    Dialer(World &world, Dial dial);

    ConnectionId connection() const { return connection_; }
    Channel &channel() { return channel_; }
    const Channel &channel() const { return channel_; }
    bool done() const { return state_ == State::kDone; }

    void connected();
    /// The frame that ends the handshake, whatever it says. Throws UNAUTHENTICATED, and what make_body throws; it is
    /// waiting for the next attempt then.
    std::optional<ControlFrame> received(std::string_view bytes);
    void closed(int error);
    /// Closes the connection and pauses.
    void retry(const std::string &problem);
    void give_up();
    void tick();
    uint64_t next_tick_ns() const { return next_ns_; }
    /// Why the last attempt failed; "" if none has.
    const std::string &problem() const { return problem_; }

  private:
    enum class State { kPausing, kConnecting, kGreeting, kProving, kDone };
    void attempt();
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
