// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <mdist/mdist.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include <sched.h>
#include <unistd.h>

namespace mdist {
namespace {

uint32_t affinity_cpus(uint32_t online) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : online;
}

/// The quota of one control group in CPUs, by cgroup v2 or v1, rounded up; `none` without one.
uint32_t quota_of(const std::string &group, uint32_t none) {
    double quota = 0, period = 0;
    if (!(std::ifstream(group + "/cpu.max") >> quota >> period)) {
        std::ifstream(group + "/cpu.cfs_quota_us") >> quota; // -1: none
        std::ifstream(group + "/cpu.cfs_period_us") >> period;
    }
    if (quota <= 0 || period <= 0) return none;
    return static_cast<uint32_t>(std::max(1.0, std::ceil(std::min(quota / period, 1e6))));
}

/// The least quota of this process's control group and those above it, as in the library (lib/util/cpus.cpp).
uint32_t quota_cpus(uint32_t none) {
    uint32_t least = none;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string number, controllers, path;
         std::getline(std::getline(std::getline(groups, number, ':'), controllers, ':'), path);) {
        if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
        const std::string top = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
        for (; path.starts_with('/'); path.resize(path.rfind('/'))) least = std::min(least, quota_of(top + path, none));
        least = std::min(least, quota_of(top, none));
    }
    return least;
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name") && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "unknown";
}

} // namespace

Machine this_machine() {
    Machine machine;
    machine.online_cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    machine.usable_cpus = std::min(affinity_cpus(machine.online_cpus), quota_cpus(machine.online_cpus));
    machine.model = cpu_model();
    machine.instruction_set = mdist_has("avx512") ? "AVX-512" : mdist_has("avx2") ? "AVX2" : "baseline";
    machine.memory_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
                           static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
    if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
    return machine;
}

} // namespace mdist
