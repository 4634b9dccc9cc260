// SPDX-License-Identifier: Apache-2.0
// Fuzz target: TF_CONFIG. Whatever the bytes, either they give a cluster that answers every query, and a config made
// from it has the same tasks; or a Failure has a place and a reason.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cluster/config_cluster.h"
#include "cluster/explain.h"
#include "cluster/tf_config.h"
#include "target.h"
#include "util/failure.h"

using namespace mdist;

namespace {

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "tf_config_fuzz: broken promise: %s\n", what);
    std::abort();
}

void ask_everything(const Cluster &cluster) {
    const Task task = *cluster.task();
    cluster.check(task);
    cluster.is_chief(task);
    require(!cluster.master(task).empty() || cluster.task_count() <= 1 || !cluster.has(task),
            "a task of a cluster of several has an address");
    if (task.type == TaskType::kPs) return;
    cluster.collective_leader(task);
    require(cluster.id_in_cluster(task) < cluster.worker_count(task.type) || task.type == TaskType::kEvaluator,
            "a rank is less than the number of workers");
}

void put_into_a_config(const Cluster &cluster) {
    Config config;
    try {
        set_config_cluster(config, cluster, "in:");
    } catch (const Failure &) { // gaps, or an address that occurs twice
        require(config == Config(), "a config that cannot take a cluster stays as it was");
        return;
    }
    const Cluster again = config_cluster(config);
    require(again.task() == cluster.task(), "the task is the same in a config");
    for (TaskType type : kTaskTypes) require(again.tasks(type) == cluster.tasks(type), "so are the tasks");
}

} // namespace

FUZZ_TARGET(tf_config) {
    Cluster cluster;
    try {
        cluster = parse_tf_config({reinterpret_cast<const char *>(data), size}, "in");
    } catch (const Failure &failure) {
        require(failure.status() == MDIST_ERR_CONFIG, "the status is MDIST_ERR_CONFIG");
        require(failure.message().starts_with("in: "), "the sentence begins with the place");
        require(failure.message().size() < 2000, "the sentence is short");
        require(!failure.reason().empty(), "there is a reason");
        return 0;
    }
    require(!explain(cluster).empty(), "there is an explanation");
    if (cluster.empty()) return 0;
    try {
        ask_everything(cluster);
    } catch (const Failure &failure) {
        require(false, "a checked task has answers");
    }
    put_into_a_config(cluster);
    return 0;
}
