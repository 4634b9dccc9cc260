// SPDX-License-Identifier: Apache-2.0
// The cluster in a config: its keys cluster.* and task.*, read and written. One thread at a time per config.
#pragma once

#include "cluster/cluster.h"
#include "cluster/config.h"
#include "cluster/environment.h"
#include "cluster/launchers/launcher.h"

namespace mdist {

/// Empty where no key names one; without own task where task.type is not set. Throws CONFIG, beginning with the origin
/// of the key, for a task that cannot be.
Cluster config_cluster(const Config &config);

/// As a launcher says it. Without task in the keys it is that of MDIST_RANK (of a config from the environment), else
/// the only one whose address is this host's. Throws CONFIG, reason "no_task", naming what might be meant.
Sighting look_config(const Config &config, const Environment &environment);

/// Replaces the cluster and the task of a config. Throws CONFIG, reason "bad_cluster", where keys cannot say it: lists
/// with gaps or without addresses.
void set_config_cluster(Config &config, const Cluster &cluster, std::string_view origin);

/// Tasks whose address names one of `hosts`: equal addresses, or host names equal up to the domain one of them lacks.
std::vector<Task> tasks_on(const Cluster &cluster, const std::vector<std::string> &hosts);

} // namespace mdist
