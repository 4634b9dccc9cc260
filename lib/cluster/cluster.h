// SPDX-License-Identifier: Apache-2.0
// Cluster: which tasks a job has, where they are, and which of them this process is.
//
// The rules are those of TensorFlow's multi_worker_util: chief and workers train together (the members), the chief
// first; an evaluator is a cluster of its own; parameter servers take no part. A list may have gaps, and then counts
// what it has. An address may be "", where whoever made the cluster knows ranks only.
// Plain data: copy it freely; one thread at a time while it changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

enum class TaskType : std::uint8_t { kChief, kWorker, kEvaluator, kPs };

inline constexpr TaskType kTaskTypes[] = {TaskType::kChief, TaskType::kWorker, TaskType::kEvaluator, TaskType::kPs};
inline constexpr std::uint32_t kMostTasks = 65536; // of one type, and the bound of an index

std::string_view task_type_name(TaskType type);
/// Throws CONFIG, reason "bad_cluster", naming those there are.
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

    /// Throws CONFIG, reason "bad_cluster": an index given twice or too large, an address that is none.
    void add(Task task, std::string_view address);
    /// A job without tasks; it is there all the same.
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
    /// NOT_FOUND where there is no such task.
    const std::string &address(Task task) const;
    std::optional<Task> task() const { return task_; }
    const std::string &rpc_layer() const { return rpc_layer_; }

    /// At most one chief and one evaluator; `task` is in it, unless it is an evaluator or there are no jobs at all.
    /// Throws CONFIG, reason "bad_cluster".
    void check(std::optional<Task> task) const;

    /// Each checks first, as TensorFlow does.
    bool is_chief(Task task) const;
    /// How many train together with a task of this type. Refuses parameter servers.
    std::uint32_t worker_count(TaskType type) const;
    /// The rank among those. Refuses parameter servers.
    std::uint32_t id_in_cluster(Task task) const;
    /// Task 0 of the members; none for an evaluator or without jobs.
    std::optional<Task> collective_leader(std::optional<Task> task) const;
    /// As TensorFlow's: parameter server 0 if there is one, else chief, else worker 0.
    std::optional<Task> coordination_leader() const;
    /// The address that was set; "" where the whole job is one task; else that of `task`, behind "rpc_layer://".
    std::string master(std::optional<Task> task) const;

    /// Chief and workers by rank. Throws CONFIG where the lists have gaps, or a member's address comes twice.
    std::vector<Task> members() const;

    bool operator==(const Cluster &) const = default;

  private:
    std::map<TaskType, Tasks> jobs_;
    std::optional<Task> task_;
    std::string master_, rpc_layer_;
};

/// Same job: lists one after another, the second's behind the first's; where a list has an index of its own (gaps, as
/// in {"3": "host:port"}), indices stay and must not meet. Own task, master and layer are the first's.
Cluster united(const std::vector<Cluster> &clusters);

} // namespace mdist
