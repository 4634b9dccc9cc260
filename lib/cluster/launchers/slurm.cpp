// SPDX-License-Identifier: Apache-2.0
// Slurm's srun. A batch script has SLURM_PROCID and SLURM_NTASKS too and is one process: only what a step has counts.
#include "cluster/launchers/launcher.h"
#include "cluster/nodelist.h"
#include "util/text.h"

namespace mdist {

Sighting look_slurm(const Environment &environment) {
    Variables variables(environment);
    if (!environment.get("SLURM_STEP_ID") || !environment.get("SLURM_STEP_NUM_TASKS"))
        return absent(environment.get("SLURM_JOB_ID")
                          ? "SLURM_STEP_ID or SLURM_STEP_NUM_TASKS is not set, so this is no step that srun started"
                          : "SLURM_STEP_ID is not set");
    Found self;
    self.rank = variables.need_count("SLURM_PROCID");
    self.size = variables.need_count("SLURM_STEP_NUM_TASKS");
    self.local_rank = variables.count("SLURM_LOCALID");
    self.job = text(variables.need_text("SLURM_JOB_ID"), '.', variables.need_text("SLURM_STEP_ID"));
    self.restart = variables.count("SLURM_RESTART_COUNT").value_or(0);
    auto node = variables.count("SLURM_NODEID");
    if (auto counts = variables.text("SLURM_STEP_TASKS_PER_NODE"); counts && node) {
        auto per_node = expand_counts(*counts);
        if (*node < per_node.size()) self.local_size = per_node[*node];
    }
    if (self.size > 1) {
        std::string first = expand_nodelist(variables.need_text("SLURM_STEP_NODELIST")).front();
        bool one_host = self.local_size == self.size;
        self.store = store_address(one_host ? "127.0.0.1" : first, derived_port(text("slurm ", self.job)));
    }
    return found(std::move(self), variables);
}

} // namespace mdist
