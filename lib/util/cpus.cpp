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
    // More CPUs than cpu_set_t has bits: such a host is not short of them.
    return static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Quota of cgroup v2 in CPUs, rounded up; UINT32_MAX without one. Inside a container its own group is mounted at the
/// root, which is the case that matters.
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
