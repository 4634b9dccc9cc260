// SPDX-License-Identifier: Apache-2.0
// Small parts: a quicker way for gathers, scatters and scattered sums of few bytes among four workers and more. All
// workers give each other what they have by relays (schedules/relayed_exchange.h): their lengths, and their inputs, or
// the partials of their sums. Then each does its part of the plan alone. So a worker sends log2(n) messages instead of
// n - 1, but the bytes of rooted calls and sums go to workers that do not need them.
//
// All workers must choose the same way, but in a gather or scatter a worker does not know beforehand how much the
// others have. They go this way if the last such call was small, which all of them know. A worker that has more this
// time gives its lengths only, and all moves of the plan are sent as messages afterwards.
#pragma once

#include "comm/plan/lengths.h"
#include "comm/workers/collective.h"

namespace mdist::workers {

/// Whether the call may be done this way. The same on all workers.
bool may_relay(const Collective &asked);
void perform_relaying(const Collective &asked);

/// To be called in every call for which the workers tell each other the lengths, so that may_relay() knows of it.
void remember_whether_small(const Collective &asked, const Lengths &lengths);

} // namespace mdist::workers
