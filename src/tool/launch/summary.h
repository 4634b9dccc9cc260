// SPDX-License-Identifier: Apache-2.0
// Sums up what went wrong after the job: one line per failed rank, and the last output of these ranks. Main thread.
#pragma once

#include "launch/attempt.h"

#include <string>

namespace mdist {

/// Several lines for stderr. Empty if every worker ended well and the job was not interrupted.
std::string summary_of(const Outcome &outcome, const std::vector<std::unique_ptr<Worker>> &workers);

} // namespace mdist
