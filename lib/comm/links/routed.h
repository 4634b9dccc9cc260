// SPDX-License-Identifier: Apache-2.0
// Routed link: combines several links into one. Each is for some of the peers.
#pragma once

#include "comm/links/link.h"

#include <memory>
#include <vector>

namespace mdist {

/// routes[peer]: the link to this peer, which routes the same way. routes[self] is ignored. All others point into
/// `links`, which are pollable and have the same parties. A thread that waits for several of them stays awake for
/// `awake_ns` at most (util/alertness.h), and then sleeps in poll().
std::unique_ptr<Link> make_routed_link(std::vector<std::unique_ptr<Link>> links, std::vector<Link *> routes,
                                       uint64_t awake_ns);

} // namespace mdist
