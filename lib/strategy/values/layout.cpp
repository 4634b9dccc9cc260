// SPDX-License-Identifier: Apache-2.0
#include "strategy/values/layout.h"

#include "util/round_up.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace mdist {

std::size_t Layout::extent(std::size_t bytes) {
    return round_up(std::max<std::size_t>(bytes, 1), kAlignment);
}

std::size_t Layout::allocate(std::size_t bytes) {
    const std::size_t needed = extent(bytes);
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
        const auto [offset, size] = *gap;
        if (size < needed) continue;
        if (size > needed) gaps_.emplace_hint(std::next(gap), offset + needed, size - needed);
        gaps_.erase(gap);
        return offset;
    }
    const std::size_t offset = used_;
    used_ += needed;
    return offset;
}

void Layout::release(std::size_t offset, std::size_t bytes) noexcept {
    try {
        auto gap = gaps_.emplace(offset, extent(bytes)).first;
        if (const auto next = std::next(gap); next != gaps_.end() && gap->first + gap->second == next->first) {
            gap->second += next->second;
            gaps_.erase(next);
        }
        if (gap != gaps_.begin()) {
            const auto before = std::prev(gap);
            if (before->first + before->second == gap->first) {
                before->second += gap->second;
                gaps_.erase(gap);
                gap = before;
            }
        }
        if (gap->first + gap->second == used_) {
            used_ = gap->first;
            gaps_.erase(gap);
        }
    } catch (const std::bad_alloc &) {
        // This stretch will not be used again. Nothing else depends on it.
    }
}

} // namespace mdist
