// SPDX-License-Identifier: Apache-2.0
// Link: moves bytes between parties that cannot read each other's memory.
//
// Each party has one end. Operations are posted, and complete in progress(), which never waits. So a schedule over a
// link is a state machine that any loop can drive: a thread that sleeps on sockets, or a simulator with a clock of its
// own.
//
// Between two ends, the i-th receive takes what the i-th send gave. Sender and receiver pass the same tag, which
// reveals it if they ever disagree about the order. They agree on lengths before they post anything: a link never sizes
// memory by what a peer says.
//
// Links do not know each other; a group chooses its link when it is formed. One thread at a time uses an end. Any
// thread may call interrupt() and close().
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist {

/// Counts the operations of somebody that are not complete yet. Must outlive them.
struct Pending {
    uint32_t count = 0;
    bool dropped = false; // some of those that count as complete were not carried out: the peer is gone
    bool done() const { return count == 0; }
};

class Pollable;

class Link {
  public:
    struct Message {
        const void *data = nullptr;
        std::size_t bytes = 0;
    };

    virtual ~Link() = default;
    /// For waiting for several links at once; nullptr if this link can only be waited for alone.
    virtual Pollable *pollable() { return nullptr; }

    virtual uint32_t self() const = 0;
    virtual uint32_t parties() const = 0;
    /// The rank in the job of a party, for messages.
    virtual uint32_t rank(uint32_t party) const { return party; }

    /// Posts `bytes` bytes for `peer` (0 is fine). The memory belongs to the link until `pending` has counted the
    /// operation off.
    virtual void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) = 0;
    virtual void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) = 0;

    /// Sends one message or two to `peer` (the second is left out if its data is nullptr) without a wait: if nothing
    /// posted before is unsent, and there is room for both. Then their memory is free at once. Otherwise returns false,
    /// and has done nothing.
    virtual bool send_now(uint32_t /*peer*/, uint64_t /*tag*/, const Message & /*first*/, const Message & /*second*/) {
        return false;
    }
    /// Receives without a wait, if nothing is posted and the whole message is there. Otherwise returns false.
    virtual bool receive_now(uint32_t /*peer*/, uint64_t /*tag*/, void * /*data*/, std::size_t /*bytes*/) {
        return false;
    }

    /// So many bytes of a long message are progress.
    static constexpr std::size_t kChunk = std::size_t{1} << 20;
    /// Counts the progress with a peer, in both directions: whole messages, and whole chunks of long ones. Any thread
    /// may ask. A link that nobody waits for with a limit need not count.
    virtual uint64_t moved(uint32_t /*peer*/) const { return 0; }
    /// The same for all peers together.
    virtual uint64_t moved() const { return 0; }

    /// Moves what can be moved now. Throws PEER_LOST, naming the peer as worker, if operations wait for a peer that is
    /// gone. Throws DATA_LOSS if tags or lengths disagree.
    virtual void progress() = 0;

    /// Returns when progress() may have something to do, soon after interrupt(), or after `timeout_ns` at the latest.
    virtual void wait(uint64_t timeout_ns) = 0;
    virtual void interrupt() noexcept = 0;

    /// Ends all operations of this end, whose peers lose it. Their memory is free when this returns.
    virtual void close() noexcept = 0;
};

} // namespace mdist
