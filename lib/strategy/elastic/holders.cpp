// SPDX-License-Identifier: Apache-2.0
#include "strategy/elastic/holders.h"

#include <algorithm>

namespace mdist {

std::vector<uint32_t> choose_holders(const std::vector<std::string> &hosts, uint32_t worker, uint32_t copies) {
    const auto count = static_cast<uint32_t>(hosts.size());
    const auto is_mate = [&](uint32_t other) { return !hosts[worker].empty() && hosts[other] == hosts[worker]; };
    std::vector<uint32_t> away, mates; // by distance in rank
    for (uint32_t apart = 1; apart < count; ++apart) {
        const uint32_t other = (worker + apart) % count;
        (is_mate(other) ? mates : away).push_back(other);
    }
    if (!away.empty() && !mates.empty()) {
        const auto before = std::count_if(mates.begin(), mates.end(), [&](uint32_t mate) { return mate < worker; });
        std::sort(away.begin(), away.end());
        std::rotate(away.begin(), away.begin() + before % static_cast<std::ptrdiff_t>(away.size()), away.end());
    }
    away.insert(away.end(), mates.begin(), mates.end());
    away.resize(std::min<std::size_t>(away.size(), copies));
    return away;
}

} // namespace mdist
