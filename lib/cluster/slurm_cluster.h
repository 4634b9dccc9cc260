// SPDX-License-Identifier: Apache-2.0
// Makes a cluster from the tasks of a Slurm step, by the rules of TensorFlow's SlurmClusterResolver. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/environment.h"

namespace mdist {

struct SlurmHost {
    std::string name;
    std::uint32_t tasks = 0; // 0: SLURM_STEP_TASKS_PER_NODE is not set
};

/// The hosts of the step, in the order of SLURM_NODEID. Ranks go from host to host in this order, unless the
/// distribution is cyclic, plane or arbitrary; but for the last, rank 0 is on the first. Throws CONFIG, reasons
/// "unusable", "bad_nodelist".
std::vector<SlurmHost> slurm_hosts(Variables &variables);

/// Whether the user dealt the ranks out to the hosts (SLURM_HOSTFILE), and Slurm does not say how.
bool is_dealt_by_user(Variables &variables);

/// `jobs`: how many tasks of each type; if empty, all are workers. The types get the step's tasks in alphabetical order
/// of the types' names. A process beyond the last of them has no task. Port base 0 means 8888. Throws CONFIG, reasons
/// "unusable", "bad_nodelist", "bad_cluster".
Cluster slurm_cluster(const std::map<TaskType, std::uint32_t> &jobs, std::uint32_t port_base,
                      const Environment &environment);

} // namespace mdist
