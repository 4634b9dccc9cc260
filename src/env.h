// SPDX-License-Identifier: Apache-2.0
// `mdist env`: what a strategy created from this environment would find. Main thread.
#pragma once

namespace mdist {

/// Prints to stdout; returns the exit status: 1 if no strategy could be created.
int print_environment(bool json);
void print_version();

} // namespace mdist
