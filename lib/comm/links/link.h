// SPDX-License-Identifier: Apache-2.0
// Link: what moves bytes between parties that cannot read each other's memory.
//
// One end per party. Operations are posted and complete in progress(), which never waits: so a schedule over a link is
// a state machine that any loop can drive, a thread that sleeps on sockets as well as a simulator with a clock of its
// own. Between two ends the i-th receive takes what the i-th send gave; the tag, which only sender and receiver need to
// agree on, tells if they ever disagree about that. Lengths have been agreed before anything is posted: a link never
// sizes memory by what a peer says. Links do not know each other, and are chosen where a group is formed. An end is
// used by one thread at a time; interrupt() and close() by any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

/// How many of somebody's operations are not complete yet; outlives them.
struct Pending {
    uint32_t count = 0;
    bool done() const { return count == 0; }
};

class Pollable;

class Link {
  public:
    virtual ~Link() = default;
    /// For waiting for several links at once; nullptr where this one can only be waited for by itself.
    virtual Pollable *pollable() { return nullptr; }

    virtual uint32_t self() const = 0;
    virtual uint32_t parties() const = 0;

    /// Posts `bytes` for `peer` (none is fine). The memory belongs to the link until `pending` has counted it off.
    virtual void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) = 0;
    virtual void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) = 0;

    /// Moves what can be moved now. Throws PEER_LOST, naming the peer as worker, where operations wait for one that is
    /// gone, and INTERNAL where tags or lengths disagree.
    virtual void progress() = 0;

    /// Returns when progress() may have something to do, after `timeout_ns` at the latest, or soon after interrupt().
    virtual void wait(uint64_t timeout_ns) = 0;
    virtual void interrupt() noexcept = 0;

    /// Ends all operations of this end; its peers lose it. Their memory is free when this returns.
    virtual void close() noexcept = 0;
};

} // namespace mdist
