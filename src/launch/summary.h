// SPDX-License-Identifier: Apache-2.0
// What went wrong, once all is over: one line per rank that failed, and what they said last. Main thread.
#pragma once

#include "launch/attempt.h"

#include <string>

namespace mdist {

/// Several lines, for stderr; empty if every worker ended well and nobody interrupted.
std::string summary_of(const Outcome &outcome, const std::vector<std::unique_ptr<Worker>> &workers);

} // namespace mdist
