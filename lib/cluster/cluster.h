// SPDX-License-Identifier: Apache-2.0
// Cluster: the tasks of a job, their addresses, and which of them this process is.
//
// The rules are those of TensorFlow's multi_worker_util. Chief and workers train together; they are the members, and
// the chief is the first. An evaluator is a cluster of its own. Parameter servers take no part. A list of tasks may
// have gaps: its tasks then have ranks in the order of their indices. An address may be "" if only ranks are known.
// Plain data: copy it freely; one thread at a time while it changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

enum class TaskType : std::uint8_t { kChief, kWorker, kEvaluator, kPs };

inline constexpr TaskType kTaskTypes[] = {TaskType::kChief, TaskType::kWorker, TaskType::kEvaluator, TaskType::kPs};
inline constexpr std::uint32_t kMostTasks = 65536; // of one type; an index is below it

std::string_view task_type_name(TaskType type);
/// Throws CONFIG, reason "bad_cluster", for an unknown name. The message lists the known ones.
TaskType parse_task_type(std::string_view name);

struct Task {
    TaskType type = TaskType::kWorker;
    std::uint32_t index = 0;
    auto operator<=>(const Task &) const = default;
};

/// "worker 1"
std::string task_text(Task task);

class Cluster {
  public:
    using Tasks = std::map<std::uint32_t, std::string>; // addresses by index

    /// Adds a task. Throws CONFIG, reason "bad_cluster", if the index is given twice or too large, or the address is
    /// malformed.
    void add(Task task, std::string_view address);
    /// Adds a job without tasks. has() is true for it all the same.
    void add_job(TaskType type) { jobs_[type]; }
    void set_task(std::optional<Task> task) { task_ = task; }
    void set_master(std::string_view master) { master_ = master; }
    void set_rpc_layer(std::string_view layer) { rpc_layer_ = layer; }

    bool empty() const { return jobs_.empty(); }
    bool has(TaskType type) const { return jobs_.contains(type); }
    const Tasks &tasks(TaskType type) const;
    std::uint32_t task_count(TaskType type) const { return static_cast<std::uint32_t>(tasks(type).size()); }
    std::uint32_t task_count() const;
    bool has(Task task) const { return tasks(task.type).contains(task.index); }
    /// Throws NOT_FOUND if there is no such task.
    const std::string &address(Task task) const;
    std::optional<Task> task() const { return task_; }

    /// Checks that there is at most one chief and one evaluator, and that `task` is in the cluster. An evaluator may be
    /// missing, and so may any task if there are no jobs at all. Throws CONFIG, reason "bad_cluster".
    void check(std::optional<Task> task) const;

    /// This and the next three call check() first, as TensorFlow does.
    bool is_chief(Task task) const;
    /// How many tasks train together with a task of this type. Throws for parameter servers.
    std::uint32_t worker_count(TaskType type) const;
    /// The rank of a task among those. Throws for parameter servers.
    std::uint32_t id_in_cluster(Task task) const;
    /// The member of rank 0. None for an evaluator, or if there are no jobs.
    std::optional<Task> collective_leader(std::optional<Task> task) const;
    /// The address that was set, if any. Else "" if the whole job is one task. Else the address of `task`, with
    /// "rpc_layer://" in front; "" if it is not in the cluster.
    std::string master(std::optional<Task> task) const;

    /// Chief and workers by rank. Throws CONFIG if two members have the same address.
    std::vector<Task> members() const;

    bool operator==(const Cluster &) const = default;

  private:
    std::map<TaskType, Tasks> jobs_;
    std::optional<Task> task_;
    std::string master_, rpc_layer_;
};

/// Joins clusters into one. Lists of the same job follow one another. If one of them has gaps, as in
/// {"3": "host:port"}, all keep their indices, which must not collide. The own task, master and layer come from the
/// first cluster.
Cluster united(const std::vector<Cluster> &clusters);

} // namespace mdist
