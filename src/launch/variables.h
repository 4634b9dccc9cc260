// SPDX-License-Identifier: Apache-2.0
// What a worker gets to know about the job. Plain data; any thread.
#pragma once

#include "launch/placement.h"

#include <string>
#include <utility>
#include <vector>

namespace mdist {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// What all workers of one start of the job share.
struct Session {
    std::string store; // host:port
    std::string job;
    uint32_t restart = 0;
    std::string secret_file; // empty: none
    std::string secret;      // what remote workers get a file of; empty: they have secret_file
};

/// What one worker gets on top of the launcher's environment.
Variables worker_variables(const LaunchOptions &options, const Placement &placement, const Place &place,
                           const Session &session, uint32_t usable_cpus);

} // namespace mdist
