// SPDX-License-Identifier: Apache-2.0
// The cluster that a strategy created here would belong to, with what the checks need of it. Plain data; any thread.
#pragma once

#include "handles.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

struct Task {
    std::string name;    // "worker 1"
    std::string address; // "" if the launcher does not give it
    bool own = false;
    bool leader = false; // rank 0, which serves the store
};

struct ClusterView {
    std::vector<Task> tasks; // chief, workers, evaluator
    std::string own;         // "worker 1"; "" if nothing says which
    std::string explanation; // lines of text
};

/// Throws std::runtime_error if creating a strategy would fail.
ClusterView view_cluster(const mdist_config_t *config);

} // namespace mdist
