// SPDX-License-Identifier: Apache-2.0
// `mdist env`: prints what a strategy created in this environment would find. Main thread.
#pragma once

#include <string>

namespace mdist {

/// Prints to stdout. Returns the exit status: 1 if no strategy could be created.
int print_environment(bool json);
/// "mdist 0.3.0"
std::string version_line();

} // namespace mdist
