// SPDX-License-Identifier: Apache-2.0
// Explain: describes a resolved cluster in lines for people. Any thread.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "cluster/cluster.h"
#include "cluster/resolve.h"

namespace mdist {

/// A cluster, and where it came from. It never changes. Any thread.
class ExplainedCluster {
  public:
    ExplainedCluster(Cluster known, std::string why) : cluster(std::move(known)), explanation(std::move(why)) {}
    /// Returns a copy that lives as long as the cluster.
    const char *keep(const std::string &text) const {
        const std::lock_guard<std::mutex> hold(lock_);
        return kept_.insert(text).first->c_str();
    }

    const Cluster cluster;
    const std::string explanation; // "" if a program built the cluster; then explain(cluster) describes it

  private:
    mutable std::mutex lock_;
    mutable std::set<std::string> kept_;
};

std::string explain(const Resolved &resolved);
std::string explain(const Cluster &cluster);

} // namespace mdist
