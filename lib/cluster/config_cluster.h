// SPDX-License-Identifier: Apache-2.0
// Reads and writes the cluster in a config: the keys cluster.* and task.*. One thread at a time per config.
#pragma once

#include "cluster/cluster.h"
#include "cluster/config.h"
#include "cluster/environment.h"
#include "cluster/launcher.h"

namespace mdist {

/// Returns the cluster of a config. It is empty if no key names one, and has no own task if task.type is not set.
/// Throws CONFIG for an impossible cluster or task. The message begins with the origin of the key.
Cluster config_cluster(const Config &config);

/// Returns what the config says about this worker, in the form in which launchers say it. If the keys name no task, it
/// is the task of MDIST_RANK (only for a config from the environment), else the only task whose address is this host's.
/// Throws CONFIG, reason "no_task", naming the candidates.
Sighting look_config(const Config &config, const Environment &environment);

/// Replaces the cluster and the task of a config. Throws CONFIG, reason "bad_cluster", if the keys cannot express it:
/// lists with gaps or without addresses.
void set_config_cluster(Config &config, const Cluster &cluster, std::string_view origin);

/// Returns the tasks whose address names one of `hosts`. Addresses must be equal. Host names must be equal, or differ
/// only in a domain that one of them lacks.
std::vector<Task> tasks_on(const Cluster &cluster, const std::vector<std::string> &hosts);

} // namespace mdist
