// SPDX-License-Identifier: Apache-2.0
// TCP link: connects workers on any hosts, with one stream socket for each pair that has something to say. A link asks
// for the socket when the first message with that peer is posted.
//
// Messages follow each other on a socket; each begins with a frame of tag and length. Small messages that were posted
// together leave in one system call. Large ones are read and written in place. Nobody else may use the sockets. With
// checksums, a change on the way that TCP did not notice is DATA_LOSS, naming the sender.
#pragma once

#include "comm/links/link.h"

#include <functional>
#include <memory>
#include <vector>

namespace mdist {

/// Where a link gets its sockets: connected, authenticated and non-blocking, one for each peer. None of its functions
/// waits.
class SocketSource {
  public:
    static constexpr int kNotYet = -1;
    static constexpr int kGone = -2; // the peer has left, and there will be none

    virtual ~SocketSource() = default;
    /// Sets what to call, on any thread, when take() may have news. When the source ends, no call is under way.
    virtual void when_news(std::function<void()> call) = 0;
    /// Asks for the socket to a peer. Call it once for each.
    virtual void ask(uint32_t peer) = 0;
    /// Gives away a socket that was asked for, or returns kNotYet or kGone.
    virtual int take(uint32_t peer) = 0;
};

/// A link between `parties` workers. Throws RESOURCE. A wait stays awake for `awake_ns` at most (util/alertness.h).
/// `checksums` must be the same on all workers. `ranks` are the workers' ranks in the job, if these are only some of
/// its workers.
///
/// With `drops`, what is sent to a peer that is gone is dropped and counts as sent (Pending::dropped). Then only
/// those who wait for something from that peer get PEER_LOST.
std::unique_ptr<Link> make_tcp_link(uint32_t self, uint32_t parties, std::unique_ptr<SocketSource> sockets,
                                    uint64_t awake_ns, bool checksums, const std::vector<uint32_t> &ranks = {},
                                    bool drops = false);

} // namespace mdist
