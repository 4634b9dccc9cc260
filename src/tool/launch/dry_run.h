// SPDX-License-Identifier: Apache-2.0
// `mdist launch --dry-run`: prints the commands that would run, quoted for a shell. Main thread.
#pragma once

#include "launch/job.h"

namespace mdist {

/// Prints to stdout.
void print_dry_run(const LaunchOptions &options, const Job &job, uint32_t usable_cpus);

} // namespace mdist
