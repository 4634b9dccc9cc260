// SPDX-License-Identifier: Apache-2.0
// `mdist check`: whether a job could start here now, before it does. Nothing stays open, and
// nothing is joined unless that is asked for.
// Main thread.
#pragma once

#include <string>

namespace mdist {

struct CheckOptions {
    std::string config; // YAML file; empty: what MDIST_CONFIG names, if it does
    double timeout_s = 2;
    bool join = false; // all workers check at the same time: form the group, too
};

/// Prints one line per check to stdout; returns the exit status: 1 if something is wrong.
int run_check(const CheckOptions &options);

} // namespace mdist
