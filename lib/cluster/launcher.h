// SPDX-License-Identifier: Apache-2.0
// Launcher: a program that starts workers, and the environment variables by which it tells each worker its place.
//
// launchers.cpp has one function per family of launchers. It only reads the variables: it opens nothing and asks
// nobody. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cluster/cluster.h"
#include "cluster/environment.h"

namespace mdist {

/// What one launcher says about this worker.
struct Found {
    std::string variables; // the variables that were read, such as "RANK, WORLD_SIZE"
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::optional<std::uint32_t> local_rank, local_size; // among the workers of this host
    std::string store;                                   // host:port, or ""
    std::string no_store;                                // why there is no store, if it is ""
    std::string own_store;                               // the address that rank 0 binds, if that is not `store`
    bool store_by_pmi = false;                           // rank 0 tells the others by PMI_FD
    std::string job;
    std::uint32_t restart = 0;
    Cluster cluster; // empty if only ranks are known

    bool is_evaluator() const { return cluster.task() && cluster.task()->type == TaskType::kEvaluator; }
};

/// The result of looking for a launcher: what it says, or why it is absent.
struct Sighting {
    std::optional<Found> found;
    std::string absent; // "RANK is not set"
};

struct Launcher {
    const char *word; // its value in MDIST_BOOTSTRAP
    const char *name; // its name in sentences
    /// Throws CONFIG if its variables are set but cannot be used.
    Sighting (*look)(const Environment &);
};

/// All launchers, in order of precedence (launchers.cpp).
std::span<const Launcher> launchers();

/// Sets rank, size and store from the cluster and its own task. The store is at the first member. A parameter server
/// stays at rank 0 of 1, and the resolver refuses it.
void read_cluster(Found &found);

/// For launchers.cpp: the result if a launcher is absent.
Sighting absent(std::string why);
/// For launchers.cpp: the result if a launcher was found. Checks that rank < size, and adds the names of the variables.
/// Throws CONFIG, reason "unusable".
Sighting found(Found found, const Variables &variables);
/// Returns "host:port". Throws CONFIG, reason "unusable", if that is no address.
std::string store_address(const std::string &host, std::uint32_t port);
/// Returns a port from 20000 to 29999, the same on every worker that passes the same text.
std::uint32_t derived_port(std::string_view job);

} // namespace mdist
