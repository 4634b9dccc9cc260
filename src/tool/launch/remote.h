// SPDX-License-Identifier: Apache-2.0
// A worker on another host: what its remote shell runs, and how the launcher talks to that shell. Any thread.
#pragma once

#include "launch/variables.h"

#include <string>
#include <vector>

namespace mdist {

/// Quotes a word for a shell.
std::string quoted_for_shell(const std::string &word);

/// The words that run the program on the place's host: `--rsh` with its arguments. The remote shell keeps reading its
/// stdin. It reads the secret first, if there is one, then one signal name per line, which it sends to the worker's
/// group. When stdin ends, it ends the group, so nothing keeps running after the connection is lost.
std::vector<std::string> remote_words(const LaunchOptions &options, const Place &place, const Variables &variables,
                                      bool sends_secret);

} // namespace mdist
