// SPDX-License-Identifier: Apache-2.0
// Keeper: the child process that runs the job for the launcher. If either of the two is killed, the other ends all
// processes of the job. It can do so because they all are descendants of both. A process that loses its parent becomes
// a child of the keeper, or after that of the launcher. Main thread, before any other thread starts.
#pragma once

#include "launch/signals.h"

#include <functional>

namespace mdist {

/// Runs `work` in a keeper. Returns its result in both processes. `signals` serves both: the launcher passes its
/// signals on to the keeper, which has its own process group and so gets nothing twice. Throws std::system_error and,
/// in the keeper, what `work` throws.
int run_in_keeper(Signals &signals, const std::function<int()> &work);

} // namespace mdist
