// SPDX-License-Identifier: Apache-2.0
// The job itself, for a moment: whether all workers find each other, agree, and sum. Main thread.
#pragma once

#include "check/report.h"

#include <mdist/mdist.h>

namespace mdist {

/// Every worker of the job is to call this at the same time.
void check_join(const mdist_config_t *config, CheckReport &report);

} // namespace mdist
