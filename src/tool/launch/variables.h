// SPDX-License-Identifier: Apache-2.0
// The environment variables that tell a worker about the job. Plain data; any thread.
#pragma once

#include "launch/placement.h"

#include <string>
#include <utility>
#include <vector>

namespace mdist {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Shared by all workers of one start of the job.
struct Session {
    std::string store; // host:port
    std::string job;
    uint32_t restart = 0;
    std::string secret_file; // empty: none
    std::string secret;      // goes into a file for each remote worker; empty: they have secret_file
    Variables elastic;       // what a remote worker of an elastic job must have as the launcher has it
};

/// What one worker gets in addition to the launcher's environment.
Variables worker_variables(const LaunchOptions &options, const Placement &placement, const Place &place,
                           const Session &session, uint32_t usable_cpus, uint64_t id = 0);

} // namespace mdist
