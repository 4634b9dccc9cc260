// SPDX-License-Identifier: Apache-2.0
// Shared-memory link between workers of one host: the sender streams its messages through a ring in its own segment,
// the receiver pulls them out, straight to where they belong. A send is complete when all of it has been in the ring.
//
// Parties are the ranks of the job; those that do not share memory with this worker, and this worker itself, cannot be
// sent to.
#pragma once

#include "comm/links/link.h"
#include "comm/shm/bell.h"
#include "comm/shm/mates.h"

#include <memory>

namespace mdist {

/// `mates` settled, with at least one that shares memory. The bell is that of whatever else this worker does with the
/// same mates.
std::unique_ptr<Link> make_shm_link(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell);

} // namespace mdist
