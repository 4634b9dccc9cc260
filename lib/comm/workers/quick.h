// SPDX-License-Identifier: Apache-2.0
// Ways for some collectives that are quicker than sending the plan's moves as messages.
#pragma once

#include "comm/workers/collective.h"

#include <span>

namespace mdist::workers {

/// A quicker way for some calls. fits() must use only values that are the same on all workers, since all must choose
/// the same way.
struct QuickWay {
    const char *name;
    bool (*fits)(const Collective &collective);
    void (*perform)(const Collective &collective);
};
/// The ways, in order: the first that fits is used.
std::span<const QuickWay> quick_ways();

} // namespace mdist::workers
