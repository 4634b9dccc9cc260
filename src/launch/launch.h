// SPDX-License-Identifier: Apache-2.0
// `mdist launch`: starts the workers of a job, passes on what they write and what it is told, and ends as they do.
// Main thread, with no other running yet.
#pragma once

#include "launch/options.h"

namespace mdist {

/// Returns the exit status. Throws UsageError for options that make no sense.
int run_launch(const LaunchOptions &options);

} // namespace mdist
