// SPDX-License-Identifier: Apache-2.0
// Resolve: from a config and what launchers say to who this worker is, who the others are, and where they meet.
//
// In order: the config's own cluster, then each of launchers() (for a config from the environment), then this process
// alone. Who is there but cannot be used is an error, unless one before it was taken; two that say different ranks or
// sizes are an error with both (but Slurm's step may well have started another launcher, which then counts).
// docs/configuration.md has the rules. Any thread.
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
        kMember,    // chief or worker: trains with the others; of a size from 1
        kEvaluator, // alone, beside a cluster
    };

    Kind kind = Kind::kLocal;
    std::string source = "single"; // "config", a launcher's word, or "single"
    std::string origin;            // where it stands: "cluster.yaml:3:12", "RANK, WORLD_SIZE"; "" for single
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::optional<std::uint32_t> local_rank, local_size; // where the launcher says
    std::optional<Task> task;                            // none when local
    std::vector<std::string>
        names; // by rank: "worker 1 (10.0.0.2:4400)", "worker 0 (chief, 10.0.0.1:4400)", "worker 1"

    // Of sizes above 1.
    std::string store;         // host:port; "" where it is still to be told by PMI: settle_store()
    bool serves_store = false; // this worker binds that address
    bool store_by_pmi = false;

    std::string job; // "" where nobody named it
    std::uint32_t restart = 0;
    Cluster cluster;                      // empty when local
    std::vector<std::string> passed_over; // a line for each other source: "torch: RANK and WORLD_SIZE are not set"
};

/// Throws CONFIG (`unusable`, `contradiction`, `no_task`, `bad_cluster`, `parameter_server` ...) and UNSUPPORTED
/// (`not_built`) for choices that would change nothing in silence.
Resolved resolve(const Config &config, const Environment &environment);

} // namespace mdist
