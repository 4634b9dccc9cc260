// SPDX-License-Identifier: Apache-2.0
#include "check/cluster_view.h"

namespace mdist {
namespace {

std::string name_of(mdist_task_type_t type, uint32_t index) {
    static constexpr const char *kNames[] = {"", "chief", "worker", "evaluator", "ps"};
    return std::string(kNames[type]) + " " + std::to_string(index);
}

std::string address_of(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index) {
    char text[512] = "";
    mdist_error_t *error = nullptr;
    require_ok(mdist_cluster_address(cluster, type, index, text, sizeof text, nullptr, &error), error);
    return text;
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
    mdist_task_type_t own_type = MDIST_TASK_NONE;
    mdist_task_type_t leader_type = MDIST_TASK_NONE;
    uint32_t own_index = 0;
    uint32_t leader_index = 0;
    require_ok(mdist_cluster_task(raw, &own_type, &own_index, &error), error);
    require_ok(mdist_cluster_leader(raw, &leader_type, &leader_index, &error), error);
    ClusterView view;
    view.explanation = explanation_of(raw);
    if (own_type != MDIST_TASK_NONE) view.own = name_of(own_type, own_index);
    for (const mdist_task_type_t type : {MDIST_TASK_CHIEF, MDIST_TASK_WORKER, MDIST_TASK_EVALUATOR}) {
        uint32_t count = 0;
        require_ok(mdist_cluster_task_count(raw, type, &count, &error), error);
        for (uint32_t index = 0; index < count; ++index)
            view.tasks.push_back({name_of(type, index), address_of(raw, type, index),
                                  type == own_type && index == own_index,
                                  type == leader_type && index == leader_index});
    }
    return view;
}

} // namespace mdist
