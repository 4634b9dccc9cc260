// SPDX-License-Identifier: Apache-2.0
// Shared-memory link between workers of one host. The sender streams its messages through a ring in its own segment;
// the receiver copies them straight to their destination. A send is complete when all of it has been put into the ring.
//
// Parties are the ranks of the job. This worker cannot send to itself, or to workers that share no memory with it.
#pragma once

#include "comm/links/link.h"
#include "comm/shm/bell.h"
#include "comm/shm/mates.h"

#include <memory>

namespace mdist {

/// `mates` must be settled, and at least one must share memory. Pass the same bell that this worker uses for everything
/// else with these mates. `channel` is below ShmLayout::kChannels; each is used by one link.
std::unique_ptr<Link> make_shm_link(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell,
                                    uint32_t channel = 0);

} // namespace mdist
