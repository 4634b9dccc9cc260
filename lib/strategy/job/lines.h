// SPDX-License-Identifier: Apache-2.0
// Exchanges lines of text between workers.
#pragma once

#include "comm/workers/workers.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

/// Returns the lines of all workers, by rank. Throws DATA_LOSS for a message that is not a list of lines.
std::vector<std::vector<std::string>> gather_lines(Workers &workers, const Call &call,
                                                   const std::vector<std::string> &own, uint64_t timeout_ns);

} // namespace mdist
