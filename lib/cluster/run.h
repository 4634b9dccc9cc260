// SPDX-License-Identifier: Apache-2.0
// Run: what tells two runs apart that meet at one address, such as torchrun's default port.
//
// Workers compare it when they join. So it holds only what all workers of one run must have in common, and only where
// both have it:
//   - the allocation of the batch system (Slurm, PBS, LSF), and the rendezvous of horovodrun;
//   - the user, among the processes of one host. On different hosts one user may have different numbers.
// It does not hold the program, since workers of one job may run different ones, nor arguments, parents and times,
// which differ within a run. A run that launchers name (torchrun, Open MPI, srun) is the job, which is compared anyway.
// Any thread.
#pragma once

#include <string>

#include "cluster/environment.h"

namespace mdist {

/// One "NAME = value" per line. `environment`: NULL if the config was not loaded from it. Returns "" if MDIST_JOB_ID is
/// set: whoever sets it says what belongs together.
std::string run_lines(const Environment *environment);

} // namespace mdist
