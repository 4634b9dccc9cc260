// SPDX-License-Identifier: Apache-2.0
// All workers decide together, at the same step, whether they go on, save, end or regroup.
#pragma once

#include "strategy/job/job.h"

#include <cstdint>

namespace mdist {

struct MembershipAnswer {
    int32_t verdict; // mdist_verdict_t
    uint32_t rank;   // of the first worker that goes; MDIST_NONE: none has said so
};

/// Needs the turn; all workers call it. `leaving` is the job's own, but in tests.
MembershipAnswer check_membership(Job &job, Leaving &leaving, uint64_t timeout_ns);

} // namespace mdist
