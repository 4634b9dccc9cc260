// SPDX-License-Identifier: Apache-2.0
// Ways: how a collective among workers is performed. The first that fits is used; parts always fit.
#pragma once

#include "comm/workers/collective.h"

#include <span>

namespace mdist::workers {

struct Way {
    const char *name;
    /// Uses only values that are the same on all workers, since all must choose the same way.
    bool (*fits)(const Collective &collective);
    /// Must run within a reduce::FloatEnvironment.
    void (*perform)(const Collective &collective);
};
std::span<const Way> ways();

/// Performs it in the first way that fits. The functions of <mdist/collective.h> say what happens to the replicas'
/// buffers. Throws the failure that ended the job.
void perform(const Collective &collective);

} // namespace mdist::workers
