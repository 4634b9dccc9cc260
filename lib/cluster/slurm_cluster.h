// SPDX-License-Identifier: Apache-2.0
// Makes a cluster from the tasks of a Slurm step, by the rules of TensorFlow's SlurmClusterResolver. Any thread.
#pragma once

#include <cstdint>
#include <map>

#include "cluster/cluster.h"
#include "cluster/environment.h"

namespace mdist {

/// `jobs`: how many tasks of each type; if empty, all are workers. The types get the step's tasks in alphabetical order
/// of the types' names. A process beyond the last of them has no task. Port base 0 means 8888. Throws CONFIG, reasons
/// "unusable", "bad_nodelist", "bad_cluster".
Cluster slurm_cluster(const std::map<TaskType, std::uint32_t> &jobs, std::uint32_t port_base,
                      const Environment &environment);

} // namespace mdist
