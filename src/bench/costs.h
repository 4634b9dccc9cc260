// SPDX-License-Identifier: Apache-2.0
// What comes on top of a reduction: many values reduced at once beside one after another and beside as many bytes in
// one, and a variable's assignment beside the all-reduce in it. All sides are measured in turns. Main thread.
#pragma once

#include "bench/bench.h"

namespace mdist {

/// Rows for 2 and 4 replicas of this process.
void bench_costs(Bench &bench);

/// The same rows for the job that the environment describes, which worker 0 prints. Every worker measures as often.
int bench_job_costs(const BenchOptions &options, bool json);

} // namespace mdist
