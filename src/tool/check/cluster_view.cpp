// SPDX-License-Identifier: Apache-2.0
#include "check/cluster_view.h"

namespace mdist {
namespace {

std::string name_of(mdist_task_type_t type, uint32_t index) {
    static constexpr const char *kNames[] = {"", "chief", "worker", "evaluator", "ps"};
    return std::string(kNames[type]) + " " + std::to_string(index);
}

std::string address_of(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index) {
    mdist_error_t *error = nullptr;
    mdist_task_info_t task{};
    task.struct_size = sizeof task;
    require_ok(mdist_cluster_describe_task(cluster, type, index, &task, &error), error);
    return task.address;
}

std::string explanation_of(const mdist_cluster_t *cluster) {
    mdist_error_t *error = nullptr;
    size_t needed = 0;
    require_ok(mdist_cluster_explain(cluster, nullptr, 0, &needed, &error), error);
    std::vector<char> text(needed);
    require_ok(mdist_cluster_explain(cluster, text.data(), text.size(), nullptr, &error), error);
    return text.data();
}

} // namespace

ClusterView view_cluster(const mdist_config_t *config) {
    mdist_error_t *error = nullptr;
    mdist_cluster_t *raw = nullptr;
    require_ok(mdist_cluster_from_config(config, &raw, &error), error);
    const ClusterHandle cluster(raw);
    mdist_cluster_info_t info{};
    info.struct_size = sizeof info;
    require_ok(mdist_cluster_describe(raw, &info, &error), error);
    ClusterView view;
    view.explanation = explanation_of(raw);
    if (info.task_type != MDIST_TASK_NONE)
        view.own = name_of(static_cast<mdist_task_type_t>(info.task_type), info.task_index);
    for (const mdist_task_type_t type : {MDIST_TASK_CHIEF, MDIST_TASK_WORKER, MDIST_TASK_EVALUATOR})
        for (uint32_t index = 0; index < info.task_counts[type]; ++index)
            view.tasks.push_back({name_of(type, index), address_of(raw, type, index),
                                  type == info.task_type && index == info.task_index,
                                  type == info.leader_type && index == info.leader_index});
    return view;
}

} // namespace mdist
