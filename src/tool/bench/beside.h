// SPDX-License-Identifier: Apache-2.0
// `mdist bench --workers --beside mpi`: all-reduces of the job's workers by libmdist and by the MPI of their hosts, in
// turns, in the same processes. MPI's launcher starts them, which gives both the same places. Worker 0 prints. Main
// thread.
#pragma once

#include "bench/workers.h"

namespace mdist {

/// Prints to stdout. Returns the exit status, the same on all workers: 1 if a sum was wrong.
int bench_beside_mpi(const WorkersOptions &options, bool json);

} // namespace mdist
