// SPDX-License-Identifier: Apache-2.0
// Measures what the library adds to a reduction. It compares many values reduced at once with the same values one after
// another, and with as many bytes in a single value. It also compares a variable's assignment with the all-reduce
// inside it. All sides are measured in turns. Main thread.
#pragma once

#include "bench/bench.h"

namespace mdist {

/// Measures rows for 2 and 4 replicas of this process.
void bench_costs(Bench &bench);

/// Measures the same rows for the job that the environment describes. Worker 0 prints them. Every worker runs the same
/// number of rounds.
int bench_job_costs(const BenchOptions &options, bool json);

} // namespace mdist
