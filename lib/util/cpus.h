// SPDX-License-Identifier: Apache-2.0
// How many CPUs this process may really use: its affinity mask, and the cgroup's quota if that is less. And what the
// system says about their caches.
#pragma once

#include <cstdint>
#include <string>

#include <sched.h>

namespace mdist {

/// Returns at least 1. Asks the system each time, so it is not for hot paths.
uint32_t usable_cpus();
/// Returns the least CPU quota of this process's control group and the groups above it, rounded up, or UINT32_MAX
/// without one. Reads proc/ and sys/ in the folder `root`.
uint32_t quota_cpus(const std::string &root);
/// Whether all these CPUs share the last cache before memory, as far as the system says. False if it says nothing.
/// It says so in files below `folder`.
bool share_last_cache(const cpu_set_t &cpus, const char *folder = "/sys/devices/system/cpu");

} // namespace mdist
