// SPDX-License-Identifier: Apache-2.0
// `mdist bench --workers`: every collective over all replicas of the job that the environment describes, one process
// per worker (`mdist launch -n 4 -- mdist bench --workers`), or one process alone. What nccl-tests prints, so that
// figures can be laid side by side; worker 0 prints. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

struct WorkersOptions {
    bool quick = false;
    std::vector<std::string> collectives; // none: all
    uint64_t min_bytes = 4;
    uint64_t max_bytes = 64 << 20;
    double factor = 4;
    std::vector<std::string> dtypes = {"float32"};
    std::vector<std::string> ops = {"sum"};
    uint32_t root = 0;
    std::string memory = "ordinary"; // or "library", of mdist_alloc
};

/// Prints to stdout; returns the exit status, the same on all workers: 1 if a result was wrong.
int bench_workers(const WorkersOptions &options, bool json);

/// Names as the options take them.
std::vector<std::string> collective_names();
std::vector<std::string> dtype_names();
std::vector<std::string> op_names();

} // namespace mdist
