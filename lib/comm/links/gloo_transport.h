// SPDX-License-Identifier: Apache-2.0
// Gloo's TCP transport, adapted for a link. The classes below extend three of Gloo's classes at the points that they
// leave open, because:
//
//   - In Gloo one can only wait for completion, one thread per operation, and a wait that times out ends all pairs.
//     GlooBuffer can be asked; GlooPair advances an event count whenever something may have completed.
//   - An error on Gloo's thread (a length that does not fit, bytes that are no message) is thrown there, and would end
//     the process. GlooPair stops the exception and counts as lost.
//   - A lost pair tells only the operations that have not begun, not those under way. GlooPair can be asked.
//   - Programs that the process starts inherit Gloo's sockets. GlooPair marks them close-on-exec.
//
// One loop thread per device calls the pairs' virtual functions, under the pair's lock where noted. The link calls
// everything else, from one thread at a time.
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

/// The memory of one operation, a send or a receive. The memory is free when the object is destroyed.
class GlooBuffer final : public gloo::transport::tcp::UnboundBuffer {
  public:
    using UnboundBuffer::UnboundBuffer;
    bool complete();
};

class GlooPair final : public gloo::transport::tcp::Pair {
  public:
    GlooPair(gloo::transport::tcp::Context *context, gloo::transport::tcp::Device *device, int peer,
             std::chrono::milliseconds timeout, EventCount &events);

    /// Whether the pair is lost. A lost pair moves no more bytes.
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// Why the pair is lost.
    std::string reason();
    /// Makes the pair lost, unless it is already. Not for the loop thread, for which others may wait under the lock.
    void lose(const std::string &reason) noexcept;
    /// Closes the socket after everything written: the peer reads that, then the end. When this returns, the loop
    /// thread does not use this pair any more. That takes one round of its loop (10 ms) at most.
    void shut();
    void close_on_exec();
    /// Marks the socket on which this pair's device listens. Newer versions of Gloo share one socket among all pairs of
    /// a device and do not hand it out, so it is looked up by its address.
    void close_listener_on_exec();

  protected:
    void handleEvents(int events) override;
    bool read() override;                                 // under the pair's lock
    bool write(gloo::transport::tcp::Op &op) override;    // under the pair's lock; any thread
    void changeState(state next_state) noexcept override; // under the pair's lock

  private:
    void end(const std::string &reason) noexcept;

    EventCount &events_;
    std::atomic<bool> lost_{false};
    std::string broken_; // what the loop thread met; only that uses it
};

/// A message that a peer announced and that this end has not posted the counterpart of.
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
    bool listener_marked_ = false;
};

/// Makes a device on a numeric address of this host. Throws Failure.
std::shared_ptr<gloo::transport::tcp::Device> make_gloo_device(const std::string &address);

/// The text of a Gloo exception, without the place in its source.
std::string gloo_reason(const std::exception &error);

} // namespace mdist
