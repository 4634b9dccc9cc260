// SPDX-License-Identifier: Apache-2.0
// Resolve: finds out from the config and the launchers who this worker is, who the others are, and where they meet.
//
// The sources in order of precedence:
//   1. the config's own cluster
//   2. each of launchers(), for a config from the environment
//   3. this process alone
// A source that is there but cannot be used is an error, unless an earlier source was taken. Two sources with different
// ranks or sizes are an error that names both. Slurm is an exception: its step may have started another launcher, and
// then that launcher counts. docs/reference/clusters.md has the rules. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/config.h"
#include "cluster/environment.h"

namespace mdist {

struct Resolved {
    enum class Kind {
        kLocal,     // this process alone, no cluster
        kMember,    // chief or worker: trains with the others; the size may be 1
        kEvaluator, // alone, beside a cluster
    };

    Kind kind = Kind::kLocal;
    std::string source = "single"; // "config", a launcher's word, or "single"
    std::string origin;            // where that is written: "cluster.yaml:3:12", "RANK, WORLD_SIZE"; "" for single
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::optional<std::uint32_t> local_rank, local_size; // if the launcher tells them
    std::optional<Task> task;                            // none when local
    std::vector<std::string>
        names; // by rank: "worker 1 (10.0.0.2:4400)", "worker 0 (chief, 10.0.0.1:4400)", "worker 1"

    // Only for sizes above 1, and in elastic jobs.
    std::string store;         // host:port; "" if PMI has yet to tell it (settle_store())
    bool serves_store = false; // this worker binds that address
    bool store_by_pmi = false;
    std::string secret; // the one that PMI told; otherwise ""

    std::string job; // "" if no source names it
    std::uint32_t restart = 0;
    Cluster cluster;                      // empty when local
    std::vector<std::string> passed_over; // a line for each other source: "torch: RANK and WORLD_SIZE are not set"
};

/// Throws CONFIG (`unusable`, `contradiction`, `no_task`, `bad_cluster`, `parameter_server` ...). Throws UNSUPPORTED
/// (`not_built`) for settings that would have no effect.
Resolved resolve(const Config &config, const Environment &environment);

} // namespace mdist
