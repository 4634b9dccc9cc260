// SPDX-License-Identifier: Apache-2.0
// The tasks of a Slurm step as a cluster, by the rules of TensorFlow's SlurmClusterResolver. Any thread.
#pragma once

#include <cstdint>
#include <map>

#include "cluster/cluster.h"
#include "cluster/environment.h"

namespace mdist {

/// `jobs`: how many tasks of each type; none: all are workers. Types get the step's tasks in the order of their names.
/// A process past the last of them has no task. Port base 0 is 8888. Throws CONFIG, reasons "unusable", "bad_nodelist",
/// "bad_cluster".
Cluster slurm_cluster(const std::map<TaskType, std::uint32_t> &jobs, std::uint32_t port_base,
                      const Environment &environment);

} // namespace mdist
