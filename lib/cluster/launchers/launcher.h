// SPDX-License-Identifier: Apache-2.0
// Launcher: what somebody who starts workers tells each of them, in variables of its own.
//
// One file per family reads its variables; launchers() is the list of them in the order in which they count. Reading is
// all that happens here: nothing is opened, nobody is asked. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cluster/cluster.h"
#include "cluster/environment.h"

namespace mdist {

/// What one launcher says.
struct Found {
    std::string variables; // those that it was read from, such as "RANK, WORLD_SIZE"
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::optional<std::uint32_t> local_rank, local_size; // among the workers of this host
    std::string store;                                   // host:port, or "" and why there is none:
    std::string no_store;
    std::string own_store;     // what rank 0 binds, where that is not `store`
    bool store_by_pmi = false; // rank 0 tells the others by PMI_FD
    std::string job;
    std::uint32_t restart = 0;
    Cluster cluster; // empty where only ranks are known

    bool is_evaluator() const { return cluster.task() && cluster.task()->type == TaskType::kEvaluator; }
};

/// What became of looking: found, or why it is not there.
struct Sighting {
    std::optional<Found> found;
    std::string absent; // "RANK is not set"
};

struct Launcher {
    const char *word; // of MDIST_BOOTSTRAP
    const char *name; // in sentences
    /// Throws CONFIG where its variables are there and cannot be used.
    Sighting (*look)(const Environment &);
};

std::span<const Launcher> launchers();

Sighting look_mdist(const Environment &environment);
Sighting look_tf_config(const Environment &environment);
Sighting look_torch(const Environment &environment);
Sighting look_kubeflow(const Environment &environment);
Sighting look_horovod(const Environment &environment);
Sighting look_pmi(const Environment &environment);
Sighting look_openmpi(const Environment &environment);
Sighting look_slurm(const Environment &environment);

/// For whoever knows a cluster and its own task: rank, size and the store, which is at the first member. Leaves a
/// parameter server at rank 0 of 1; the resolver refuses it.
void read_cluster(Found &found);

/// For the files of launchers/.
Sighting absent(std::string why);
/// Checks rank < size and closes the list of variables. Throws CONFIG, reason "unusable".
Sighting found(Found found, const Variables &variables);
/// "host:port"; throws CONFIG, reason "unusable", where that is none.
std::string store_address(const std::string &host, std::uint32_t port);
/// One of 20000 to 29999, the same on every worker that has the same text.
std::uint32_t derived_port(std::string_view job);

} // namespace mdist
