// SPDX-License-Identifier: Apache-2.0
// Routed link: combines several links into one. Each is for some of the peers, or for large messages to some of them.
#pragma once

#include "comm/links/link.h"

#include <memory>
#include <vector>

namespace mdist {

/// Says which link takes a message to or from a peer. Both ends must route the same way.
struct Route {
    Link *small = nullptr;
    Link *large = nullptr;
    std::size_t large_from = 0; // bytes
};

/// routes[self] is ignored. All other routes point into `links`, which have the same parties. A thread that waits for
/// several of them stays awake for `awake_ns` at most (util/alertness.h), and then sleeps in poll() if all of them are
/// pollable.
std::unique_ptr<Link> make_routed_link(std::vector<std::unique_ptr<Link>> links, std::vector<Route> routes,
                                       uint64_t awake_ns);

} // namespace mdist
