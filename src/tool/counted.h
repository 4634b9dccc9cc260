// SPDX-License-Identifier: Apache-2.0
// Writes a number with its noun, for messages. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace mdist {

/// "1 worker", "2 workers"
inline std::string counted(uint64_t number, const std::string &noun) {
    return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

} // namespace mdist
