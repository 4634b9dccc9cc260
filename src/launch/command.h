// SPDX-License-Identifier: Apache-2.0
// Command: what is run for one worker: here, or by a shell on another host. Plain data; any thread.
#pragma once

#include "launch/placement.h"

#include <string>
#include <utility>
#include <vector>

namespace mdist {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// What all workers of one start of the job share.
struct Session {
    std::string store;          // host:port
    bool launcher_owns = false; // the launcher serves the store, not rank 0
    std::string job;
    uint32_t restart = 0;
    std::string secret_file; // empty: none
    std::string secret;      // what remote workers get a file of; empty: they have secret_file
};

/// What one worker gets on top of the launcher's environment.
Variables worker_variables(const LaunchOptions &options, const Placement &placement, const Place &place,
                           const Session &session, uint32_t usable_cpus);

/// A word as a shell reads it.
std::string quoted_for_shell(const std::string &word);

/// `--rsh` and its arguments that run the program on the place's host. The shell there keeps reading its stdin: first
/// the secret, if there is one, then a signal's name per line for the worker's group; at its end it ends the group.
/// That way nothing is left running when the connection goes.
std::vector<std::string> remote_words(const LaunchOptions &options, const Place &place, const Variables &variables,
                                      bool sends_secret);

} // namespace mdist
