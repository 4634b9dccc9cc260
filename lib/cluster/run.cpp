// SPDX-License-Identifier: Apache-2.0
#include "cluster/run.h"

#include <unistd.h>

#include "util/fnv.h"
#include "util/host.h"
#include "util/text.h"

namespace mdist {

namespace {

constexpr std::size_t kMostValue = 100;

/// The allocation that a job array or a heterogeneous job shares. Empty if nothing says that there is one.
std::string slurm_allocation(const Environment &environment) {
    if (environment.get("SLURM_HET_SIZE")) return ""; // each component has a number of its own
    const auto array = environment.get("SLURM_ARRAY_JOB_ID");
    return array ? *array : environment.get("SLURM_JOB_ID").value_or("");
}

/// Without the index in an array: "123[4].server" is "123".
std::string without_index(const std::string &id) {
    return id.substr(0, id.find_first_of("[."));
}

void add(std::string &lines, std::string_view name, std::string_view value) {
    if (!value.empty()) lines += text(name, " = ", value.substr(0, kMostValue), "\n");
}

/// Of the user of this process; other hosts do not have this line.
std::string user_line() {
    const std::string host = host_identity();
    char name[65] = "";
    if (host.empty() || gethostname(name, sizeof name - 1) != 0) return "";
    return text("user id on ", name, " (", fnv1a(host) % 1'000'000, ") = ", getuid(), "\n");
}

} // namespace

std::string run_lines(const Environment *environment) {
    if (environment != nullptr && environment->get("MDIST_JOB_ID")) return "";
    std::string lines = user_line();
    if (environment == nullptr) return lines;
    add(lines, "SLURM_JOB_ID", slurm_allocation(*environment));
    add(lines, "PBS_JOBID", without_index(environment->get("PBS_JOBID").value_or("")));
    add(lines, "LSB_JOBID", without_index(environment->get("LSB_JOBID").value_or("")));
    add(lines, "HOROVOD_GLOO_RENDEZVOUS_PORT", environment->get("HOROVOD_GLOO_RENDEZVOUS_PORT").value_or(""));
    return lines;
}

} // namespace mdist
