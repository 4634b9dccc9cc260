// SPDX-License-Identifier: Apache-2.0
// How many CPUs this process may really use: its affinity mask, and the cgroup's quota if that is less.
#pragma once

#include <cstdint>

namespace mdist {

/// Returns at least 1. Asks the system each time, so it is not for hot paths.
uint32_t usable_cpus();

} // namespace mdist
