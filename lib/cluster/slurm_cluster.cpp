// SPDX-License-Identifier: Apache-2.0
#include "cluster/slurm_cluster.h"

#include "cluster/launcher.h"
#include "cluster/nodelist.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {

namespace {

constexpr std::uint32_t kDefaultPortBase = 8888;

Failure unusable(std::string message) {
    return Failure(MDIST_ERR_CONFIG, std::move(message)).reason("unusable");
}

/// Returns the addresses of all tasks of the step, host by host.
std::vector<std::string> step_addresses(Variables &variables, std::uint32_t port_base) {
    auto hosts = expand_nodelist(variables.need_text("SLURM_STEP_NODELIST"));
    auto counts = expand_counts(variables.need_text("SLURM_STEP_TASKS_PER_NODE"));
    if (hosts.size() != counts.size())
        throw unusable(text("SLURM_STEP_NODELIST names ", hosts.size(), " hosts, but SLURM_STEP_TASKS_PER_NODE has ",
                            counts.size(), " counts"));
    std::vector<std::string> addresses;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        if (addresses.size() + counts[host] > kMostTasks) throw unusable(text("more than ", kMostTasks, " tasks"));
        for (std::uint32_t task = 0; task < counts[host]; ++task)
            addresses.push_back(store_address(hosts[host], port_base + task));
    }
    return addresses;
}

} // namespace

Cluster slurm_cluster(const std::map<TaskType, std::uint32_t> &jobs, std::uint32_t port_base,
                      const Environment &environment) {
    Variables variables(environment);
    std::uint32_t rank = variables.need_count("SLURM_PROCID"), size = variables.need_count("SLURM_STEP_NUM_TASKS");
    auto addresses = step_addresses(variables, port_base == 0 ? kDefaultPortBase : port_base);
    if (addresses.size() != size)
        throw unusable(
            text("SLURM_STEP_NUM_TASKS is ", size, ", but SLURM_STEP_TASKS_PER_NODE adds up to ", addresses.size()));
    std::map<std::string_view, std::uint32_t> by_name; // so that the types are in alphabetical order
    std::uint64_t wanted = 0;
    for (const auto &[type, count] : jobs) wanted += by_name[task_type_name(type)] = count;
    if (jobs.empty()) wanted = by_name["worker"] = size;
    if (wanted > size)
        throw unusable(text("the cluster asks for ", wanted, " tasks, but the Slurm step has only ", size));

    Cluster cluster;
    std::uint32_t place = 0;
    for (const auto &[name, count] : by_name) {
        cluster.add_job(parse_task_type(name));
        for (std::uint32_t index = 0; index < count; ++index, ++place) {
            Task task{parse_task_type(name), index};
            cluster.add(task, addresses[place]);
            if (place == rank) cluster.set_task(task);
        }
    }
    cluster.check(cluster.task());
    return cluster;
}

} // namespace mdist
