// SPDX-License-Identifier: Apache-2.0
// TCP link: workers on any hosts, one connected stream socket per pair.
//
// Messages go over a socket one behind another, each behind a frame of tag and length. Small ones that were posted
// together leave in one system call; large ones are read and written where they lie. Nobody else may use the sockets.
// With checksums, what changed on the way and TCP did not notice is DATA_LOSS, naming the sender.
#pragma once

#include "comm/links/link.h"

#include <memory>
#include <vector>

namespace mdist {

/// sockets[rank] is connected with that worker, authenticated and non-blocking, and the link's from now on, also where
/// this throws (RESOURCE); sockets[self] is -1. `spin_ns`: how long a wait stays awake. `checksums`: alike on all.
std::unique_ptr<Link> make_tcp_link(uint32_t self, const std::vector<int> &sockets, uint64_t spin_ns, bool checksums);

} // namespace mdist
