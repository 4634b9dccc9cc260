// SPDX-License-Identifier: Apache-2.0
// Explain: describes a resolved cluster in lines for people. Pure functions, any thread.
#pragma once

#include <set>
#include <string>

#include "cluster/cluster.h"
#include "cluster/resolve.h"

namespace mdist {

/// A cluster, and where it came from.
struct ExplainedCluster {
    Cluster cluster;
    std::string explanation; // "" if a program built the cluster; then explain(cluster) describes it
    mutable std::set<std::string> kept{}; // texts that the program was given
};

std::string explain(const Resolved &resolved);
std::string explain(const Cluster &cluster);

} // namespace mdist
