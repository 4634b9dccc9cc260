// SPDX-License-Identifier: Apache-2.0
// In-process link: parties in one process, bytes by memcpy from sender to receiver. The plain twin of the direct reads
// in comm/collectives.h, and what schedules are tested on. Ends may be used from different threads.
#pragma once

#include "comm/links/link.h"

#include <memory>
#include <vector>

namespace mdist {

/// One end for each party; ends keep what they share alive.
std::vector<std::unique_ptr<Link>> make_inproc_links(uint32_t parties);

} // namespace mdist
