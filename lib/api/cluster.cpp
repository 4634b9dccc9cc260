// SPDX-License-Identifier: Apache-2.0
#include <mdist/cluster.h>

#include <map>
#include <memory>
#include <string>

#include "api/check.h"
#include "api/guard.h"
#include "cluster/config_cluster.h"
#include "cluster/explain.h"
#include "cluster/resolve.h"
#include "cluster/slurm_cluster.h"
#include "cluster/tf_config.h"
#include "util/failure.h"
#include "util/text.h"

using mdist::guard;

namespace mdist {

namespace {

/// `name`: of the argument.
TaskType task_type(int32_t type, std::string_view name = "type") {
    switch (type) {
        case MDIST_TASK_CHIEF:
            return TaskType::kChief;
        case MDIST_TASK_WORKER:
            return TaskType::kWorker;
        case MDIST_TASK_EVALUATOR:
            return TaskType::kEvaluator;
        case MDIST_TASK_PS:
            return TaskType::kPs;
        default:
            throw invalid(text(name, " is ", type, ", which is not a valid task type; use an mdist_task_type_t"));
    }
}

mdist_task_type_t public_type(TaskType type) {
    switch (type) {
        case TaskType::kChief:
            return MDIST_TASK_CHIEF;
        case TaskType::kWorker:
            return MDIST_TASK_WORKER;
        case TaskType::kEvaluator:
            return MDIST_TASK_EVALUATOR;
        case TaskType::kPs:
            return MDIST_TASK_PS;
    }
    return MDIST_TASK_NONE;
}

/// Returns the task asked about; none for the own task of a process without a cluster.
std::optional<Task> asked_task(const Cluster &cluster, mdist_task_type_t type, uint32_t index) {
    if (type != MDIST_TASK_NONE) return Task{task_type(type), index};
    if (cluster.empty() || cluster.task()) return cluster.empty() ? std::nullopt : cluster.task();
    throw Failure(MDIST_ERR_CONFIG,
                  "the cluster does not say which of its tasks this process is. Name a task type and index, or "
                  "make the cluster with this process's task")
        .reason("no_task");
}

mdist_cluster_info_t info(const Cluster &cluster, uint32_t struct_size) {
    mdist_cluster_info_t info{};
    info.struct_size = struct_size;
    info.task_counts[MDIST_TASK_NONE] = cluster.task_count();
    for (const TaskType type : kTaskTypes) info.task_counts[public_type(type)] = cluster.task_count(type);
    if (const auto own = cluster.task()) {
        info.task_type = public_type(own->type);
        info.task_index = own->index;
    }
    const bool trains = cluster.has(TaskType::kChief) || cluster.has(TaskType::kWorker);
    if (const auto leader = trains ? cluster.collective_leader(cluster.task()) : std::nullopt) {
        info.leader_type = public_type(leader->type);
        info.leader_index = leader->index;
    }
    return info;
}

/// Describes a task; without one, a process that is alone. Texts live as long as the cluster.
mdist_task_info_t info(const ExplainedCluster &explained, std::optional<Task> task, uint32_t struct_size) {
    const Cluster &cluster = explained.cluster;
    const char *master = explained.keep(cluster.master(task));
    if (!task) return {struct_size, 1, 0, 1, "", master};
    const bool trains = task->type != TaskType::kPs;
    return {struct_size,
            cluster.is_chief(*task),
            trains ? cluster.id_in_cluster(*task) : MDIST_NONE,
            trains ? cluster.worker_count(task->type) : 0,
            cluster.has(*task) ? cluster.address(*task).c_str() : "",
            master};
}

void give(mdist_cluster_t **out, Cluster cluster, std::string explanation = "") {
    *out = publish<mdist_cluster_t>(std::make_shared<ExplainedCluster>(std::move(cluster), std::move(explanation)));
}

void give_resolved(mdist_cluster_t **out, const Config &config) {
    const Resolved resolved = resolve(config, process_environment());
    give(out, resolved.cluster, explain(resolved));
}

void set_own_task(Cluster &cluster, mdist_task_type_t type, uint32_t index) {
    if (type == MDIST_TASK_NONE) {
        if (index == 0) return;
        throw invalid(text("own_index is ", index,
                           " and own_type is MDIST_TASK_NONE; say the type of this process's "
                           "task, too, or let own_index be 0"));
    }
    const Task own{task_type(type, "own_type"), index};
    cluster.check(own);
    cluster.set_task(own);
}

} // namespace

} // namespace mdist

mdist_status_t mdist_cluster_create(const mdist_task_t *tasks, size_t count, mdist_task_type_t own_type,
                                    uint32_t own_index, mdist_cluster_t **out, mdist_error_t **error) {
    return guard("mdist_cluster_create", error, [&] {
        mdist::need_array(tasks, count, "tasks");
        mdist::need(out, "out");
        mdist::Cluster cluster;
        for (size_t i = 0; i < count; ++i) {
            const std::string name = mdist::text("tasks[", i, ']');
            mdist::need(tasks[i].address, (name + ".address").c_str());
            cluster.add({mdist::task_type(tasks[i].task_type, name + ".task_type"), tasks[i].task_index},
                        tasks[i].address);
        }
        mdist::set_own_task(cluster, own_type, own_index);
        mdist::give(out, std::move(cluster));
    });
}

mdist_status_t mdist_cluster_from_config(const mdist_config_t *config, mdist_cluster_t **out, mdist_error_t **error) {
    return guard("mdist_cluster_from_config", error, [&] {
        mdist::need(out, "out");
        if (config != nullptr) return mdist::give_resolved(out, *mdist::pin(config));
        mdist::Config environment;
        environment.load_environment();
        mdist::give_resolved(out, environment);
    });
}

mdist_status_t mdist_cluster_from_tf_config(const char *json, size_t length, mdist_cluster_t **out,
                                            mdist_error_t **error) {
    return guard("mdist_cluster_from_tf_config", error, [&] {
        mdist::need_array(json, length, "json");
        mdist::need(out, "out");
        const std::string_view text = length == 0 ? std::string_view() : std::string_view(json, length);
        mdist::give(out, mdist::parse_tf_config(text, "mdist_cluster_from_tf_config"));
    });
}

mdist_status_t mdist_cluster_from_slurm(const mdist_task_type_t *types, const uint32_t *counts, size_t job_count,
                                        uint32_t port_base, mdist_cluster_t **out, mdist_error_t **error) {
    return guard("mdist_cluster_from_slurm", error, [&] {
        mdist::need_array(types, job_count, "types");
        mdist::need_array(counts, job_count, "counts");
        mdist::need(out, "out");
        std::map<mdist::TaskType, uint32_t> jobs;
        for (size_t i = 0; i < job_count; ++i)
            if (!jobs.emplace(mdist::task_type(types[i]), counts[i]).second)
                throw mdist::invalid(mdist::text("types[", i, "] is given twice"));
        mdist::give(out, mdist::slurm_cluster(jobs, port_base, mdist::process_environment()));
    });
}

mdist_status_t mdist_cluster_union(const mdist_cluster_t *const *clusters, size_t count, mdist_cluster_t **out,
                                   mdist_error_t **error) {
    return guard("mdist_cluster_union", error, [&] {
        mdist::need_array(clusters, count, "clusters");
        mdist::need(out, "out");
        std::vector<mdist::Cluster> copies;
        for (size_t i = 0; i < count; ++i) copies.push_back(mdist::pin(clusters[i])->cluster);
        mdist::give(out, mdist::united(copies));
    });
}

mdist_status_t mdist_cluster_describe(const mdist_cluster_t *cluster, mdist_cluster_info_t *out,
                                      mdist_error_t **error) {
    return guard("mdist_cluster_describe", error, [&] {
        const auto pinned = mdist::pin(cluster);
        mdist::need(out, "out");
        mdist::check_struct_size(out, sizeof *out, sizeof *out, "mdist_cluster_info_t");
        *out = mdist::info(pinned->cluster, out->struct_size);
    });
}

mdist_status_t mdist_cluster_describe_task(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                           mdist_task_info_t *out, mdist_error_t **error) {
    return guard("mdist_cluster_describe_task", error, [&] {
        const auto pinned = mdist::pin(cluster);
        mdist::need(out, "out");
        mdist::check_struct_size(out, sizeof *out, sizeof *out, "mdist_task_info_t");
        const auto task = mdist::asked_task(pinned->cluster, type, index);
        *out = mdist::info(*pinned, task, out->struct_size);
    });
}

mdist_status_t mdist_cluster_explain(const mdist_cluster_t *cluster, char *text, size_t capacity, size_t *needed,
                                     mdist_error_t **error) {
    return guard("mdist_cluster_explain", error, [&] {
        const auto pinned = mdist::pin(cluster);
        mdist::copy_text(pinned->explanation.empty() ? mdist::explain(pinned->cluster) : pinned->explanation, text,
                         capacity, needed);
    });
}

mdist_status_t mdist_config_set_cluster(mdist_config_t *config, const mdist_cluster_t *cluster, mdist_error_t **error) {
    return guard("mdist_config_set_cluster", error, [&] {
        const auto pinned = mdist::pin(config);
        mdist::set_config_cluster(*pinned, mdist::pin(cluster)->cluster, "mdist_config_set_cluster");
    });
}

void mdist_cluster_destroy(mdist_cluster_t *cluster) {
    mdist::give_up(cluster);
}
