// SPDX-License-Identifier: Apache-2.0
#include "util/cpus.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

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

/// Reads the first number of a file, or the first two. 0: there is none, as in "max 100000".
std::pair<double, double> numbers_in(const std::string &path) {
    std::pair<double, double> numbers;
    if (const CFile file = open_file(path.c_str()))
        if (std::fscanf(file.get(), "%lf %lf", &numbers.first, &numbers.second) < 1) return {};
    return numbers;
}

/// The quota of one group, rounded up, by cgroup v2 or v1; UINT32_MAX without one.
uint32_t quota_of(const std::string &group) {
    auto [quota, period] = numbers_in(group + "/cpu.max");
    if (period == 0) {
        quota = numbers_in(group + "/cpu.cfs_quota_us").first; // -1: none
        period = numbers_in(group + "/cpu.cfs_period_us").first;
    }
    if (quota <= 0 || period <= 0) return UINT32_MAX;
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

uint32_t quota_cpus(const std::string &root) {
    uint32_t least = UINT32_MAX;
    const CFile groups = open_file((root + "/proc/self/cgroup").c_str());
    for (char line[8192]; groups != nullptr && std::fgets(line, sizeof line, groups.get()) != nullptr;) {
        // "0::/user.slice/x.scope" in v2, "4:cpu,cpuacct:/docker/1f" in v1
        const std::string text(line, std::strcspn(line, "\n"));
        const std::size_t first = text.find(':'), second = text.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = "," + text.substr(first + 1, second - first - 1) + ",";
        if (controllers != ",," && controllers.find(",cpu,") == std::string::npos) continue;
        const std::string top = root + "/sys/fs/cgroup" + (controllers == ",," ? "" : "/cpu");
        // A container may see another path than its own; then only the groups above it are found.
        for (std::string path = text.substr(second + 1);; path.resize(path.rfind('/'))) {
            least = std::min(least, quota_of(top + path));
            if (path.find('/') == std::string::npos) break;
        }
    }
    return least;
}

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
    return std::max(1u, std::min(affinity_cpus(), quota_cpus("")));
}

} // namespace mdist
