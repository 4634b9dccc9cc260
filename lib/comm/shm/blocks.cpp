// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/blocks.h"

#include <algorithm>
#include <map>

namespace mdist {
namespace {

/// How many workers of a host with `count` a block has: if possible, so many that all blocks are equal.
uint32_t block_length(uint32_t count) {
    constexpr uint32_t kLeast = 16; // smaller equal blocks would send more between them than uneven ones
    for (uint32_t length = std::min(count, ShmBlocks::kMostMates); length >= kLeast; --length)
        if (count % length == 0) return length;
    return ShmBlocks::kMostMates;
}

} // namespace

ShmBlocks::ShmBlocks(const std::vector<std::string> &hosts) : places_(hosts.size()) {
    std::map<std::string, std::vector<uint32_t>> by_host;
    for (uint32_t rank = 0; rank < hosts.size(); ++rank) {
        if (!hosts[rank].empty()) {
            by_host[hosts[rank]].push_back(rank);
            continue;
        }
        places_[rank].block = static_cast<uint32_t>(blocks_.size());
        blocks_.push_back({rank});
    }
    for (const auto &[host, ranks] : by_host) {
        const uint32_t length = block_length(static_cast<uint32_t>(ranks.size()));
        for (uint32_t i = 0; i < ranks.size(); ++i) {
            if (i % length == 0) blocks_.emplace_back();
            places_[ranks[i]] = {static_cast<uint32_t>(blocks_.size() - 1), i % length};
            blocks_.back().push_back(ranks[i]);
        }
    }
}

bool ShmBlocks::share(const std::vector<std::string> &opened, uint32_t a, uint32_t b) const {
    const auto has = [&](uint32_t rank, uint32_t other) {
        return index(other) < opened[rank].size() && opened[rank][index(other)] == '1';
    };
    return a == b || (together(a, b) && has(a, b) && has(b, a));
}

uint32_t ShmBlocks::length_of_rows(const std::vector<std::string> &opened) const {
    const auto workers = static_cast<uint32_t>(places_.size());
    uint32_t length = 1;
    while (length < workers && share(opened, 0, length)) ++length;
    if (workers % length != 0) return 1;
    for (uint32_t a = 0; a < workers; ++a) {
        uint32_t row = 0;
        for (const uint32_t b : members(a)) {
            if (share(opened, a, b) != (a / length == b / length)) return 1;
            row += a / length == b / length ? 1 : 0;
        }
        if (row != length) return 1; // the rest of the row is elsewhere
    }
    return length;
}

} // namespace mdist
