// SPDX-License-Identifier: Apache-2.0
// Joins the job for a moment, to see whether all workers find each other, agree, and can sum. Main thread.
#pragma once

#include "check/report.h"

#include <mdist/mdist.h>

namespace mdist {

/// Every worker of the job must call this at the same time.
void check_join(const mdist_config_t *config, CheckReport &report);

} // namespace mdist
