// SPDX-License-Identifier: Apache-2.0
#include "util/cpus.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <sched.h>
#include <unistd.h>

namespace mdist {
namespace {

using CFile = std::unique_ptr<FILE, int (*)(FILE *)>;

CFile open_file(const char *path) {
    return CFile(std::fopen(path, "re"), [](FILE *open) { return open == nullptr ? 0 : std::fclose(open); });
}

uint32_t affinity_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<uint32_t>(CPU_COUNT(&set));
    // The host has more CPUs than cpu_set_t has bits, so the exact number matters little.
    return static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Returns the CPU quota of cgroup v2, rounded up, or UINT32_MAX without one. It reads the root group. Inside a
/// container that is the container's own group, which is the case that matters.
uint32_t quota_cpus() {
    const CFile file = open_file("/sys/fs/cgroup/cpu.max");
    double quota = 0;
    double period = 0;
    if (file == nullptr || std::fscanf(file.get(), "%lf %lf", &quota, &period) != 2 || period <= 0) return UINT32_MAX;
    return static_cast<uint32_t>(std::clamp((quota + period - 1) / period, 1.0, 1e6));
}

/// Opens the list of CPUs that share this CPU's last cache, such as "0-3,8-11". Empty if there is none.
CFile open_sharers(int cpu, const char *folder) {
    constexpr int kMostCaches = 10;
    for (int cache = kMostCaches; cache-- > 0;) {
        char path[4096];
        std::snprintf(path, sizeof path, "%s/cpu%d/cache/index%d/shared_cpu_list", folder, cpu, cache);
        if (CFile file = open_file(path)) return file;
    }
    return open_file("");
}

} // namespace

bool share_last_cache(const cpu_set_t &cpus, const char *folder) {
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) ++cpu;
    if (cpu == CPU_SETSIZE) return false;
    const CFile file = open_sharers(cpu, folder);
    if (file == nullptr) return false;
    cpu_set_t others = cpus;
    for (int first = 0; std::fscanf(file.get(), "%d", &first) == 1;) {
        int last = first;
        if (std::fscanf(file.get(), "-%d", &last) != 1) last = first;
        for (int each = std::max(first, 0); each <= last && each < CPU_SETSIZE; ++each) CPU_CLR(each, &others);
        if (std::fgetc(file.get()) != ',') break;
    }
    return CPU_COUNT(&others) == 0;
}

uint32_t usable_cpus() {
    return std::max(1u, std::min(affinity_cpus(), quota_cpus()));
}

} // namespace mdist
