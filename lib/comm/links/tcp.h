// SPDX-License-Identifier: Apache-2.0
// TCP link: connects workers on any hosts, with one stream socket per pair.
//
// Messages follow each other on a socket; each begins with a frame of tag and length. Small messages that were posted
// together leave in one system call. Large ones are read and written in place. Nobody else may use the sockets. With
// checksums, a change on the way that TCP did not notice is DATA_LOSS, naming the sender.
#pragma once

#include "comm/links/link.h"

#include <memory>
#include <vector>

namespace mdist {

/// sockets[rank] is connected to that worker, authenticated and non-blocking; sockets[self] is -1. The link owns the
/// sockets from now on, even if this throws (RESOURCE). A wait stays awake for `awake_ns` at most (util/alertness.h).
/// `checksums` must be the same on all workers. `ranks` are the workers' ranks in the job, if these are only some of its
/// workers.
///
/// With `drops`, what is sent to a peer that is gone is dropped and counts as sent. Then only those who wait for
/// something from that peer get PEER_LOST.
std::unique_ptr<Link> make_tcp_link(uint32_t self, const std::vector<int> &sockets, uint64_t awake_ns, bool checksums,
                                    const std::vector<uint32_t> &ranks = {}, bool drops = false);

} // namespace mdist
