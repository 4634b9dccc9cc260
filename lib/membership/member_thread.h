// SPDX-License-Identifier: Apache-2.0
// MemberThread: what a Membership stands on: a worker's side of a session, as a machine in a reactor, and the condition
// on which callers wait for it. In a job of fixed size it begins and ends with the membership. In an elastic job it
// outlives many of them (elastic/elastic_membership.h).
#pragma once

#include <condition_variable>
#include <functional>
#include <optional>

#include "membership/data_sockets.h"
#include "membership/peers.h"
#include "membership/reactor.h"

namespace mdist {

class MemberThread {
  public:
    virtual ~MemberThread() = default;
    virtual Reactor &reactor() = 0;
    /// Notified whenever the machine was told something. Used with the reactor's lock.
    virtual std::condition_variable &changed() = 0;
    /// Sets a function to call on the reactor's thread, without the lock, whenever the machine was told something.
    /// nullptr: none; when that returns, no call is under way.
    virtual void tell(std::function<void()> call) = 0;

    // With the lock, and once the session is READY:
    virtual Peers &peers() = 0;
    virtual DataSockets &sockets() = 0;
    virtual std::optional<Failure> failure() const = 0;
    virtual bool failed() const = 0;

    /// The membership ends. Takes a bounded time. Any number of times; without the lock.
    virtual void leave() noexcept = 0;
};

} // namespace mdist
