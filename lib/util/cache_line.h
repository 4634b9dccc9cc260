// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace mdist {

/// Bytes of a line of the processor's caches.
inline constexpr std::size_t kCacheLine = 64;

} // namespace mdist
