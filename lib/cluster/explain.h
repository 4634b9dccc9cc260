// SPDX-License-Identifier: Apache-2.0
// Explain: a resolved cluster in lines for people. Pure functions, any thread.
#pragma once

#include <string>

#include "cluster/cluster.h"
#include "cluster/resolve.h"

namespace mdist {

/// A cluster, and where it came from.
struct ExplainedCluster {
    Cluster cluster;
    std::string explanation; // "" where a program put it together: then explain(cluster) says it
};

std::string explain(const Resolved &resolved);
std::string explain(const Cluster &cluster);

} // namespace mdist
