// SPDX-License-Identifier: Apache-2.0
// Link: what moves bytes between parties that cannot read each other's memory.
//
// One end per party. Operations are posted and complete in progress(), which never waits: so a schedule over a link is
// a state machine that any loop can drive, a thread that sleeps on sockets as well as a simulator with a clock of its
// own. Lengths have been agreed before anything is posted: a link never sizes memory by what a peer says. Links do not
// know each other, and are chosen where a group is formed. An end is used by one thread at a time; close() by any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

class Link {
  public:
    virtual ~Link() = default;

    virtual uint32_t self() const = 0;
    virtual uint32_t parties() const = 0;

    /// Posts `bytes` for `peer`, to be matched by its receive with the same tag. The memory belongs to the link until
    /// progress() says that all is done.
    virtual void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes) = 0;
    virtual void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes) = 0;

    /// Moves what can be moved now; true when every posted operation is complete. Throws PEER_LOST, naming the peer.
    virtual bool progress() = 0;

    /// Ends all operations of this end; its peers lose it.
    virtual void close() noexcept = 0;
};

} // namespace mdist
