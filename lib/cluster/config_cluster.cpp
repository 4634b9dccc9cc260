// SPDX-License-Identifier: Apache-2.0
#include "cluster/config_cluster.h"

#include "util/failure.h"
#include "util/text.h"

namespace mdist {

namespace {

std::string cluster_key(TaskType type) {
    return text("cluster.", task_type_name(type));
}

/// Returns the origin of the first list of tasks, which names the cluster in messages.
std::string cluster_origin(const Config &config) {
    for (TaskType type : kTaskTypes)
        if (config.is_set(cluster_key(type))) return config.origin(cluster_key(type));
    return "config";
}

[[noreturn]] void refuse(std::string_view origin, std::string_view message, const char *reason) {
    throw Failure(MDIST_ERR_CONFIG, text(origin, ": ", message)).reason(reason);
}

std::optional<Task> config_task(const Config &config) {
    if (!config.is_set("task.type")) {
        if (config.is_set("task.index"))
            refuse(config.origin("task.index"), "task.index is set, but task.type is not; set both", "bad_cluster");
        return std::nullopt;
    }
    Task task{parse_task_type(config.text("task.type")), static_cast<std::uint32_t>(config.count("task.index"))};
    bool is_one_of_many = task.type == TaskType::kWorker || task.type == TaskType::kPs;
    if (is_one_of_many && !config.is_set("task.index"))
        refuse(config.origin("task.type"),
               text("task.type is ", config.text("task.type"), ", but task.index is not set; set it to say which"),
               "bad_cluster");
    return task;
}

Task task_of_rank(const Cluster &cluster, std::uint32_t rank, std::string_view origin) {
    auto members = cluster.members();
    if (rank < members.size()) return members[rank];
    refuse("MDIST_RANK",
           text(rank, " is not a valid rank in the cluster of ", origin, ", which has ", members.size(), " workers"),
           "unusable");
}

Task task_on_this_host(const Cluster &cluster, const Environment &environment, std::string_view origin) {
    auto own = tasks_on(cluster, environment.own_hosts());
    if (own.size() == 1) return own.front();
    std::string candidates;
    for (Task task : own)
        candidates += text(candidates.empty() ? "" : ", ", task_text(task), " (", cluster.address(task), ')');
    refuse(origin,
           text("cannot tell which task of the cluster this process is. ",
                own.empty() ? "No address in it belongs to this host"
                            : text("Several tasks are on this host: ", candidates),
                ". Set task.type and task.index, or MDIST_RANK"),
           "no_task");
}

} // namespace

Cluster config_cluster(const Config &config) {
    Cluster cluster;
    for (TaskType type : kTaskTypes) {
        std::uint32_t index = 0;
        for (const std::string &address : config.list(cluster_key(type))) cluster.add({type, index++}, address);
    }
    auto task = config_task(config);
    if (cluster.empty() && task)
        refuse(config.origin("task.type"), text("the task is ", task_text(*task), ", but no cluster.* is set"),
               "bad_cluster");
    cluster.set_task(task);
    try {
        cluster.check(task);
        cluster.members();
    } catch (const Failure &failure) {
        refuse(cluster_origin(config), failure.message(), failure.reason().c_str());
    }
    return cluster;
}

Sighting look_config(const Config &config, const Environment &environment) {
    Found self;
    self.cluster = config_cluster(config);
    if (self.cluster.empty()) return absent("cluster.* is not set");
    std::string origin = cluster_origin(config);
    self.variables = origin;
    if (!self.cluster.task()) {
        Variables variables(environment);
        auto rank = config.is_from_environment() ? variables.count("MDIST_RANK") : std::nullopt;
        if (rank) self.variables += ", MDIST_RANK";
        self.cluster.set_task(rank ? task_of_rank(self.cluster, *rank, origin)
                                   : task_on_this_host(self.cluster, environment, origin));
    }
    read_cluster(self);
    return {std::move(self), ""};
}

void set_config_cluster(Config &config, const Cluster &cluster, std::string_view origin) {
    cluster.members();
    cluster.check(cluster.task());
    if (cluster.task() && !cluster.empty() && cluster.task_count() == 0)
        refuse(origin,
               text("the task is ", task_text(*cluster.task()),
                    ", but the cluster has no tasks; a config needs the address of at least one"),
               "bad_cluster");
    Config next = config;
    for (const char *key : {"task.type", "task.index"}) next.clear(key);
    for (TaskType type : kTaskTypes) {
        next.clear(cluster_key(type));
        std::string list;
        std::uint32_t next_index = 0;
        for (const auto &[index, address] : cluster.tasks(type)) {
            if (index != next_index++ || address.empty())
                refuse(origin,
                       text(task_text({type, address.empty() ? index : next_index - 1}),
                            " has no address, but a config needs the address of every task"),
                       "bad_cluster");
            list += text(list.empty() ? "" : ",", address);
        }
        if (!list.empty()) next.set(cluster_key(type), list, origin);
    }
    if (auto task = cluster.task(); task && !cluster.empty()) {
        next.set("task.type", task_type_name(task->type), origin);
        next.set("task.index", std::to_string(task->index), origin);
    }
    config = std::move(next);
}

} // namespace mdist
