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

/// The CPU quota of cgroup v2, rounded up; `none` without a quota.
uint32_t quota_cpus(uint32_t none) {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    double quota = 0;
    double period = 0;
    if (!(file >> quota >> period) || quota <= 0 || period <= 0) return none;
    return static_cast<uint32_t>(std::max(1.0, std::ceil(std::min(quota / period, 1e6))));
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
