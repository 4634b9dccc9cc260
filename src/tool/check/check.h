// SPDX-License-Identifier: Apache-2.0
// `mdist check`: tells whether a job could start here now. It leaves nothing open, and joins nothing unless asked to.
// Main thread.
#pragma once

#include <string>

namespace mdist {

struct CheckOptions {
    std::string config; // YAML file; empty: the file in MDIST_CONFIG, if that is set
    double timeout_s = 2;
    bool gpu = false;  // check_gpu() in its place
    bool join = false; // all workers check at the same time, and also form the group
};

/// Prints one line per check to stdout. Returns the exit status: 1 if there is a problem.
int run_check(const CheckOptions &options);

} // namespace mdist
