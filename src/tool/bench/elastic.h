// SPDX-License-Identifier: Apache-2.0
// `mdist bench --elastic`: what elastic training costs, and what it saves when a worker is killed. The bench runs
// itself as the workers of jobs, under `mdist launch`, and both write to a board in shared memory. Main thread.
#pragma once

#include "bench/bench.h"

namespace mdist {

/// Measures a loss beside a restart of the whole job, a commit beside memcpy, and a step beside one in a job of fixed
/// size. Prints to stdout and returns the exit status.
int bench_elastic(const BenchOptions &options, bool json);

/// The part of a worker, `mdist bench --elastic-worker`, which the bench has started. Returns the exit status.
int run_elastic_bench_worker();

} // namespace mdist
