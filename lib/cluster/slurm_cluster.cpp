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

/// The names of the hosts of a heterogeneous job's components, one component after another; none in any other job.
std::vector<std::string> hosts_of_components(Variables &variables) {
    std::vector<std::string> hosts;
    std::uint32_t components = variables.count("SLURM_HET_SIZE").value_or(0);
    for (std::uint32_t i = 0; i < components; ++i) {
        auto list = variables.text(text("SLURM_JOB_NODELIST_HET_GROUP_", i));
        if (!list) list = variables.text(text("SLURM_JOB_NODELIST_PACK_GROUP_", i)); // of srun, in older versions
        if (!list) return {};
        for (std::string &host : expand_nodelist(*list)) hosts.push_back(std::move(host));
    }
    return hosts;
}

/// Returns the addresses of all tasks of the step, host by host.
std::vector<std::string> step_addresses(Variables &variables, std::uint32_t port_base) {
    variables.need_text("SLURM_STEP_TASKS_PER_NODE");
    if (is_dealt_by_user(variables))
        throw unusable(
            "SLURM_DISTRIBUTION is arbitrary, so Slurm does not say which host has which rank. Name "
            "the workers' addresses in a config (cluster.worker)");
    std::vector<std::string> addresses;
    for (const SlurmHost &host : slurm_hosts(variables)) {
        if (addresses.size() + host.tasks > kMostTasks) throw unusable(text("more than ", kMostTasks, " tasks"));
        for (std::uint32_t task = 0; task < host.tasks; ++task)
            addresses.push_back(store_address(host.name, port_base + task));
    }
    return addresses;
}

} // namespace

std::vector<SlurmHost> slurm_hosts(Variables &variables) {
    auto names = expand_nodelist(variables.need_text("SLURM_STEP_NODELIST"));
    std::vector<std::uint32_t> counts(names.size());
    if (auto text_of_counts = variables.text("SLURM_STEP_TASKS_PER_NODE")) counts = expand_counts(*text_of_counts);
    if (names.size() != counts.size())
        throw unusable(text("SLURM_STEP_NODELIST names ", names.size(), " hosts, but SLURM_STEP_TASKS_PER_NODE has ",
                            counts.size(), " counts"));
    std::vector<SlurmHost> sorted, ordered;
    for (std::size_t i = 0; i < names.size(); ++i) sorted.push_back({names[i], counts[i]});
    // The list is sorted by name, also over several components, whose ranks and SLURM_NODEID follow each other. A step
    // may have some of the hosts alone.
    std::map<std::string_view, const SlurmHost *> by_name;
    for (const SlurmHost &host : sorted) by_name[host.name] = &host;
    for (const std::string &name : hosts_of_components(variables))
        if (auto found = by_name.find(name); found != by_name.end()) ordered.push_back(*found->second);
    return ordered.size() == sorted.size() ? ordered : sorted;
}

bool is_dealt_by_user(Variables &variables) {
    return variables.text("SLURM_DISTRIBUTION").value_or("").starts_with("arbitrary");
}

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
