// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/owned_ranges.h"

#include <iterator>
#include <mutex>

namespace mdist {

void OwnedRanges::add(const void *begin, std::size_t bytes, int32_t device) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::unique_lock lock(mutex_);
    ranges_[address] = {address + bytes, device};
}

void OwnedRanges::remove(const void *begin) noexcept {
    const std::unique_lock lock(mutex_);
    ranges_.erase(reinterpret_cast<std::uintptr_t>(begin));
}

std::optional<int32_t> OwnedRanges::find(const void *address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const std::shared_lock lock(mutex_);
    const auto behind = ranges_.upper_bound(at);
    if (behind == ranges_.begin()) return {};
    const Range &range = std::prev(behind)->second;
    return at < range.end ? std::optional(range.device) : std::nullopt;
}

} // namespace mdist
