// SPDX-License-Identifier: Apache-2.0
#include "util/cpus.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <sched.h>
#include <unistd.h>

namespace mdist {
namespace {

uint32_t affinity_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
    // The host has more CPUs than cpu_set_t has bits, so the exact number matters little.
    return static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Returns the CPU quota of cgroup v2, rounded up, or UINT32_MAX without one. It reads the root group. Inside a
/// container that is the container's own group, which is the case that matters.
uint32_t quota_cpus() {
    const std::unique_ptr<FILE, int (*)(FILE *)> file(
        std::fopen("/sys/fs/cgroup/cpu.max", "re"), [](FILE *open) { return open == nullptr ? 0 : std::fclose(open); });
    double quota = 0;
    double period = 0;
    if (file == nullptr || std::fscanf(file.get(), "%lf %lf", &quota, &period) != 2 || period <= 0) return UINT32_MAX;
    return static_cast<uint32_t>(std::clamp((quota + period - 1) / period, 1.0, 1e6));
}

} // namespace

uint32_t usable_cpus() {
    return std::max(1u, std::min(affinity_cpus(), quota_cpus()));
}

} // namespace mdist
