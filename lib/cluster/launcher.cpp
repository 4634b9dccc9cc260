// SPDX-License-Identifier: Apache-2.0
#include "cluster/launcher.h"

#include "cluster/config_values.h"
#include "util/failure.h"
#include "util/fnv.h"
#include "util/text.h"

namespace mdist {

void read_cluster(Found &found) {
    Task task = *found.cluster.task();
    if (task.type == TaskType::kPs) return;
    auto members = found.cluster.members();
    found.size = found.cluster.worker_count(task.type);
    found.rank = found.cluster.id_in_cluster(task);
    // Kubeflow's sparse clusters name only the worker that reads them. Each worker would train alone, as the whole job.
    if (task.type == TaskType::kWorker && found.size == 1 && task.index > 0)
        throw Failure(MDIST_ERR_CONFIG, text("the cluster has ", task_text(task),
                                             " but no other worker; list all workers that train together"))
            .reason("bad_cluster");
    if (task.type != TaskType::kEvaluator) found.store = found.cluster.address(members.front());
}

Sighting absent(std::string why) {
    return {std::nullopt, std::move(why)};
}

Sighting found(Found found, const Variables &variables) {
    found.variables = variables.names();
    auto refuse = [&](std::string_view why) {
        throw Failure(MDIST_ERR_CONFIG, text(found.variables, ": ", why)).reason("unusable");
    };
    if (found.size == 0) refuse("the job has 0 workers; it must have at least 1");
    if (found.rank >= found.size)
        refuse(text("rank ", found.rank, " is not within 0 to ", found.size - 1, ", the ranks of ", found.size,
                    " workers"));
    return {std::move(found), ""};
}

std::string store_address(const std::string &host, std::uint32_t port) {
    bool is_bare_ipv6 = host.find(':') != host.npos && host.front() != '[';
    std::string address = is_bare_ipv6 ? text('[', host, "]:", port) : text(host, ':', port);
    try {
        check_address(address);
    } catch (const Failure &failure) {
        throw Failure(MDIST_ERR_CONFIG, failure.message()).reason("unusable");
    }
    return address;
}

std::uint32_t derived_port(std::string_view job) {
    return 20000 + static_cast<std::uint32_t>(fnv1a(job) % 10000);
}

} // namespace mdist
