// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.h"

#include <algorithm>
#include <set>

#include "cluster/config_values.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {

namespace {

Failure bad_cluster(std::string message) {
    return Failure(MDIST_ERR_CONFIG, std::move(message)).reason("bad_cluster");
}

bool has_gaps(const Cluster::Tasks &tasks) {
    return !tasks.empty() && tasks.rbegin()->first != tasks.size() - 1;
}

/// Counts the tasks before `index`, which is the index itself in a list without gaps.
std::uint32_t rank_in_list(const Cluster::Tasks &tasks, std::uint32_t index) {
    return static_cast<std::uint32_t>(std::distance(tasks.begin(), tasks.find(index)));
}

} // namespace

std::string_view task_type_name(TaskType type) {
    switch (type) {
        case TaskType::kChief:
            return "chief";
        case TaskType::kWorker:
            return "worker";
        case TaskType::kEvaluator:
            return "evaluator";
        case TaskType::kPs:
            return "ps";
    }
    return "?";
}

TaskType parse_task_type(std::string_view name) {
    for (TaskType type : kTaskTypes)
        if (name == task_type_name(type)) return type;
    throw bad_cluster(text(in_quotes(name), " is not a valid task type; use chief, worker, evaluator or ps"));
}

std::string task_text(Task task) {
    return text(task_type_name(task.type), ' ', task.index);
}

void Cluster::add(Task task, std::string_view address) {
    if (task.index >= kMostTasks) throw bad_cluster(text(task_text(task), ": an index must be less than ", kMostTasks));
    if (!address.empty()) {
        try {
            check_address(address);
        } catch (const Failure &failure) {
            throw bad_cluster(text(task_text(task), ": ", failure.message()));
        }
    }
    if (!jobs_[task.type].emplace(task.index, address).second)
        throw bad_cluster(text(task_text(task), " is given twice, as ", in_quotes(jobs_[task.type][task.index]),
                               " and ", in_quotes(address)));
}

const Cluster::Tasks &Cluster::tasks(TaskType type) const {
    static const Tasks none;
    auto found = jobs_.find(type);
    return found != jobs_.end() ? found->second : none;
}

std::uint32_t Cluster::task_count() const {
    std::uint32_t count = 0;
    for (TaskType type : kTaskTypes) count += task_count(type);
    return count;
}

const std::string &Cluster::address(Task task) const {
    const Tasks &list = tasks(task.type);
    if (auto found = list.find(task.index); found != list.end()) return found->second;
    std::string message = has(task.type) ? text("there is no ", task_text(task), " in the cluster, which has ",
                                                list.size(), ' ', task_type_name(task.type), " tasks")
                                         : text("there is no ", task_type_name(task.type), " in the cluster");
    throw Failure(MDIST_ERR_NOT_FOUND, std::move(message)).reason("no_such_task");
}

void Cluster::check(std::optional<Task> task) const {
    for (TaskType type : {TaskType::kChief, TaskType::kEvaluator})
        if (task_count(type) > 1)
            throw bad_cluster(text("the cluster has ", task_count(type), ' ', task_type_name(type),
                                   " tasks; at most one is allowed"));
    if (!task || empty()) return;
    if (!has(task->type)) {
        if (task->type == TaskType::kEvaluator) return;
        throw bad_cluster(
            text("the task is ", task_text(*task), ", but the cluster has no ", task_type_name(task->type)));
    }
    if (has(*task)) return;
    throw bad_cluster(text("the task is ", task_text(*task), ", but the cluster has ", task_count(task->type), ' ',
                           task_type_name(task->type), " tasks",
                           has_gaps(tasks(task->type)) ? ", none with that index" : ", counted from 0"));
}

bool Cluster::is_chief(Task task) const {
    check(task);
    if (task.type == TaskType::kChief || task.type == TaskType::kEvaluator) return true;
    return task.type == TaskType::kWorker && !has(TaskType::kChief) && rank_in_list(tasks(task.type), task.index) == 0;
}

std::uint32_t Cluster::worker_count(TaskType type) const {
    check(Task{type, tasks(type).empty() ? 0 : tasks(type).begin()->first});
    if (type == TaskType::kPs) throw bad_cluster("a ps does not train, so it has no number of workers to train with");
    // An evaluator counts even if the cluster does not list it.
    if (type == TaskType::kEvaluator) return std::max(task_count(type), 1u);
    return task_count(TaskType::kChief) + task_count(TaskType::kWorker);
}

std::uint32_t Cluster::id_in_cluster(Task task) const {
    check(task);
    switch (task.type) {
        case TaskType::kChief:
            return 0;
        case TaskType::kWorker:
            return task_count(TaskType::kChief) + rank_in_list(tasks(task.type), task.index);
        case TaskType::kEvaluator:
            return task.index;
        case TaskType::kPs:
            break;
    }
    throw bad_cluster(text(task_text(task), " has no rank: a ps does not train"));
}

std::optional<Task> Cluster::collective_leader(std::optional<Task> task) const {
    if (empty()) return std::nullopt;
    check(task);
    if (task && task->type == TaskType::kEvaluator) return std::nullopt;
    for (TaskType type : {TaskType::kChief, TaskType::kWorker})
        if (task_count(type) > 0) return Task{type, tasks(type).begin()->first};
    throw bad_cluster("the cluster has neither a chief nor a worker, so it has no leader");
}

std::string Cluster::master(std::optional<Task> task) const {
    if (!master_.empty()) return master_;
    if (task_count() <= 1) return "";
    if (!task) throw bad_cluster("the cluster has several tasks, but does not say which of them this process is");
    if (!has(*task)) return "";
    const std::string &own = address(*task);
    return rpc_layer_.empty() ? own : text(rpc_layer_, "://", own);
}

std::vector<Task> Cluster::members() const {
    std::vector<Task> all;
    std::set<std::string_view> seen;
    for (TaskType type : {TaskType::kChief, TaskType::kWorker})
        for (const auto &[index, address] : tasks(type)) {
            if (!address.empty() && !seen.insert(address).second)
                throw bad_cluster(text("the cluster has the address ", in_quotes(address), " twice"));
            all.push_back({type, index});
        }
    return all;
}

Cluster united(const std::vector<Cluster> &clusters) {
    if (clusters.empty()) throw bad_cluster("there are no clusters to unite; pass at least one");
    Cluster all = clusters.front();
    for (TaskType type : kTaskTypes) {
        bool keeps_indices = std::any_of(clusters.begin(), clusters.end(),
                                         [&](const Cluster &cluster) { return has_gaps(cluster.tasks(type)); });
        for (auto next = clusters.begin() + 1; next != clusters.end(); ++next) {
            if (next->has(type)) all.add_job(type);
            for (const auto &[index, address] : next->tasks(type))
                all.add({type, keeps_indices ? index : all.task_count(type)}, address);
        }
    }
    return all;
}

} // namespace mdist
