// SPDX-License-Identifier: Apache-2.0
// `mdist launch`: starts the workers of a job, passes on their output and its own input and signals, and ends as they
// do. Main thread, before any other thread starts.
#pragma once

#include "launch/options.h"

namespace mdist {

/// Returns the exit status. Throws UsageError for options that do not fit together.
int run_launch(const LaunchOptions &options);

} // namespace mdist
