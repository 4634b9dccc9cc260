// SPDX-License-Identifier: Apache-2.0
// Gloo's TCP transport, made fit for a link. Three of its classes are extended at the points that they leave open.
//
//   - Completion can only be waited for, by one thread per operation, and a wait that times out ends all pairs.
//     GlooBuffer can be asked; GlooPair advances an event count whenever something may have become complete.
//   - What goes wrong on Gloo's thread (a length that does not fit, bytes that are no message) is thrown there and
//   would
//     end the process. GlooPair stops it, and is lost.
//   - A lost pair tells the operations that have not begun, not those in the middle. GlooPair can be asked.
//   - Sockets are inherited by programs that the process starts. GlooPair marks them.
//
// One loop thread per device calls pairs' virtual functions, under the pair's lock where said. Everything else is
// called by the link, one thread at a time.
#pragma once

#include "util/event_count.h"

#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

/// One operation's memory: one send or one receive. Destroying it ends that operation as far as memory goes.
class GlooBuffer final : public gloo::transport::tcp::UnboundBuffer {
  public:
    using UnboundBuffer::UnboundBuffer;
    bool complete();
};

class GlooPair final : public gloo::transport::tcp::Pair {
  public:
    GlooPair(gloo::transport::tcp::Context *context, gloo::transport::tcp::Device *device, int peer,
             std::chrono::milliseconds timeout, EventCount &events);

    /// Once true, no byte moves any more.
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// Why, if lost.
    std::string reason();
    /// Loses the pair, unless it is lost already.
    void lose(const std::string &reason) noexcept;
    /// Closes the socket after what was written: the peer reads it, then the end. The loop thread has let go of this
    /// pair when this returns, within one round of its loop (10 ms).
    void shut();
    void close_on_exec();

  protected:
    void handleEvents(int events) override;
    bool read() override;                                 // under the pair's lock
    bool write(gloo::transport::tcp::Op &op) override;    // under the pair's lock; any thread
    void changeState(state next_state) noexcept override; // under the pair's lock

  private:
    EventCount &events_;
    std::atomic<bool> lost_{false};
};

/// What a peer announced, that this end has not posted the counterpart of.
struct GlooAnnouncement {
    uint32_t peer;
    uint64_t slot;
    bool is_send; // the peer sends
};

class GlooContext final : public gloo::transport::tcp::Context {
  public:
    GlooContext(std::shared_ptr<gloo::transport::tcp::Device> device, int self, int parties, EventCount &events)
        : Context(std::move(device), self, parties), events_(events) {}

    std::unique_ptr<gloo::transport::Pair> &createPair(int peer) override;
    void announced(std::vector<GlooAnnouncement> &out);

  private:
    EventCount &events_;
};

/// A device on a numeric address of this host. Throws Failure.
std::shared_ptr<gloo::transport::tcp::Device> make_gloo_device(const std::string &address);

/// What an exception of Gloo says, without the place in its source.
std::string gloo_reason(const std::exception &error);

} // namespace mdist
