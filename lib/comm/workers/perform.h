// SPDX-License-Identifier: Apache-2.0
// Performs a collective as one operation among the workers of a job. This executor carries out the plan with messages
// between workers, and has quicker ways for some calls (quick.h).
#pragma once

#include "comm/workers/collective.h"

namespace mdist::workers {

/// Performs it in the quickest way that fits. The functions of <mdist/collective.h> say what happens to the replicas'
/// buffers. Throws the failure that ended the job.
void perform(WorkerGroup &workers, const Call *const *calls, uint64_t timeout_ns);

/// Performs it in the plain way, which always fits: every move of the plan is a message. All quicker ways give the same
/// results. Like them, it must run within a reduce::FloatEnvironment.
void perform_plan(const Collective &collective);

} // namespace mdist::workers
