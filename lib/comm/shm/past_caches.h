// SPDX-License-Identifier: Apache-2.0
// Copies of memory that nobody reads soon.
#pragma once

#include "util/cache_line.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mdist {

/// Copies as memcpy() does, but gives what is written no place in the caches, where the processor can. So whole lines
/// need not be read before they are overwritten. When it returns, the writes are ordered before later ones.
inline void copy_past_caches(char *to, const char *from, std::size_t bytes) noexcept {
#if defined(__SSE2__)
    constexpr std::size_t kStep = sizeof(__m128i);
    const std::size_t before = std::min<std::size_t>(-reinterpret_cast<uintptr_t>(to) % kCacheLine, bytes);
    const std::size_t end = before + (bytes - before) / kCacheLine * kCacheLine;
    std::memcpy(to, from, before);
    for (std::size_t at = before; at < end; at += kStep)
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + at)));
    std::memcpy(to + end, from + end, bytes - end);
    _mm_sfence();
#else
    std::memcpy(to, from, bytes);
#endif
}

} // namespace mdist
