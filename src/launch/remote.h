// SPDX-License-Identifier: Apache-2.0
// A worker on another host: what a remote shell is given to run, and how the launcher speaks to it. Any thread.
#pragma once

#include "launch/variables.h"

#include <string>
#include <vector>

namespace mdist {

/// A word as a shell reads it.
std::string quoted_for_shell(const std::string &word);

/// `--rsh` and its arguments that run the program on the place's host. The shell there keeps reading its stdin: first
/// the secret, if one comes, then a signal's name per line, for the worker's group; at its end it ends the group. That
/// way nothing is left running when the connection goes.
std::vector<std::string> remote_words(const LaunchOptions &options, const Place &place, const Variables &variables,
                                      bool sends_secret);

} // namespace mdist
