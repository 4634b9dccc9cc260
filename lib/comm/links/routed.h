// SPDX-License-Identifier: Apache-2.0
// Routed link: one link out of several, each for some of the peers, or for what is large between some of them.
#pragma once

#include "comm/links/link.h"

#include <memory>
#include <vector>

namespace mdist {

/// Which link takes a message to or from a peer. Both ends route alike.
struct Route {
    Link *small = nullptr;
    Link *large = nullptr;
    std::size_t large_from = 0; // bytes
};

/// routes[self] is not looked at; all others point into `links`, which have the same parties. Who waits for several of
/// them stays awake for `spin_ns`, then sleeps in poll(), if they are all pollable.
std::unique_ptr<Link> make_routed_link(std::vector<std::unique_ptr<Link>> links, std::vector<Route> routes,
                                       uint64_t spin_ns);

} // namespace mdist
