// SPDX-License-Identifier: Apache-2.0
// `mdist keys`: lists the configuration keys that the library has. Main thread.
#pragma once

#include <vector>

#include <mdist/config.h>

namespace mdist {

std::vector<mdist_config_key_t> config_keys();

/// Prints to stdout, for people or as the table of docs/reference/configuration.md. Returns the exit status.
int print_keys(bool markdown);

} // namespace mdist
