// SPDX-License-Identifier: Apache-2.0
#include "launch/variables.h"

#include <algorithm>
#include <cstdlib>

namespace mdist {
namespace {

bool is_set(const Variables &variables, const std::string &name) {
    return std::getenv(name.c_str()) != nullptr ||
           std::any_of(variables.begin(), variables.end(), [&](const auto &entry) { return entry.first == name; });
}

/// Each worker gets its share of the CPUs, because math libraries otherwise use all of them.
void share_cpus(Variables &variables, const Place &place, uint32_t usable_cpus) {
    if (place.remote) return; // the number of CPUs there is unknown
    const std::string threads = std::to_string(std::max(1u, usable_cpus / place.local_size));
    for (const char *name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
        if (!is_set(variables, name)) variables.emplace_back(name, threads);
}

} // namespace

Variables worker_variables(const LaunchOptions &options, const Placement &placement, const Place &place,
                           const Session &session, uint32_t usable_cpus, uint64_t id) {
    Variables variables{
        {"MDIST_BOOTSTRAP", "env"}, // variables of an outer launcher do not apply to this job
        {"MDIST_RANK", std::to_string(place.rank)},
        {"MDIST_SIZE", std::to_string(placement.size)},
        {"MDIST_LOCAL_RANK", std::to_string(place.local_rank)},
        {"MDIST_LOCAL_SIZE", std::to_string(place.local_size)},
        {"MDIST_NODE_RANK", std::to_string(place.node_rank)},
        {"MDIST_NODES", std::to_string(std::max(placement.nodes, place.node_rank + 1))},
        {"MDIST_STORE", session.store},
        {"MDIST_STORE_OWNER", "launcher"},
        {"MDIST_JOB_ID", session.job},
        {"MDIST_RESTART", std::to_string(session.restart)},
    };
    if (placement.least != 0) {
        variables.emplace_back("MDIST_ELASTIC_MIN_WORKERS", std::to_string(placement.least));
        variables.emplace_back("MDIST_ELASTIC_MAX_WORKERS", std::to_string(placement.size));
        if (id != 0) variables.emplace_back("MDIST_WORKER_ID", std::to_string(id));
    }
    if (place.remote) variables.insert(variables.end(), session.elastic.begin(), session.elastic.end());
    if (!session.secret_file.empty()) variables.emplace_back("MDIST_SECRET_FILE", session.secret_file);
    for (const std::string &entry : options.environment) {
        const std::size_t equals = entry.find('=');
        if (equals == std::string::npos || equals == 0) throw UsageError("--env \"" + entry + "\": write NAME=VALUE");
        variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
    share_cpus(variables, place, usable_cpus);
    return variables;
}

} // namespace mdist
