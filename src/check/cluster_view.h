// SPDX-License-Identifier: Apache-2.0
// The cluster that a strategy created here would be in, as far as checks ask for it. Plain data; any thread.
#pragma once

#include "handles.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

struct Task {
    std::string name;    // "worker 1"
    std::string address; // "" where the launcher gives none
    bool own = false;
    bool leader = false; // rank 0, which serves the store
};

struct ClusterView {
    std::vector<Task> tasks; // chief, workers, evaluator
    std::string own;         // "worker 1"; "" where nobody said so
    std::string explanation; // lines for people
};

/// Throws std::runtime_error where a strategy would fail.
ClusterView view_cluster(const mdist_config_t *config);

} // namespace mdist
