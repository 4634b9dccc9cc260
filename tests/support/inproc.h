// SPDX-License-Identifier: Apache-2.0
// In-process link: parties in one process, with memcpy from sender to receiver. Schedules are tested on it. Ends may be
// used from different threads.
#pragma once

#include "comm/links/link.h"

#include <memory>
#include <vector>

namespace mdist {

/// Makes one end per party. The ends keep their shared state alive.
std::vector<std::unique_ptr<Link>> make_inproc_links(uint32_t parties);

} // namespace mdist
