// SPDX-License-Identifier: Apache-2.0
// `mdist bench --workers`: measures every collective over all replicas of the job that the environment describes. The
// job has one process per worker (`mdist launch -n 4 -- mdist bench --workers`), or is one process alone. Worker 0
// prints the same columns as nccl-tests, so that figures can be compared. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

struct WorkersOptions {
    bool quick = false;
    std::vector<std::string> collectives; // empty: all
    uint64_t min_bytes = 4;
    uint64_t max_bytes = 64 << 20;
    double factor = 4;
    std::vector<std::string> dtypes = {"float32"};
    std::vector<std::string> ops = {"sum"};
    uint32_t root = 0;
    std::string memory = "ordinary"; // or "library": from mdist_alloc
    std::string beside;              // "mpi", or a file with MPI's library; empty: libmdist alone
};

/// Prints to stdout. Returns the exit status, the same on all workers: 1 if a result was wrong.
int bench_workers(const WorkersOptions &options, bool json);

/// The names that the options accept.
std::vector<std::string> collective_names();
std::vector<std::string> dtype_names();
std::vector<std::string> op_names();

} // namespace mdist
