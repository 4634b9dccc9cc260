// SPDX-License-Identifier: Apache-2.0
// Ways to wait awake for another thread or process that is about to act.
#pragma once

#include "util/clock.h"

#include <cstdint>

#include <sched.h>

namespace mdist {

/// Pauses the core briefly. Call it between two looks at the same word.
inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Calls ready() repeatedly, for some microseconds at most, without reading the clock. Returns whether it was ready.
template <class Ready>
bool look_often(const Ready &ready) noexcept {
    constexpr uint32_t kLooks = 32;
    for (uint32_t i = 0; i < kLooks; ++i) {
        if (ready()) return true;
        relax();
    }
    return false;
}

/// Calls ready() repeatedly for `spin_ns` at most. Returns whether it was ready.
template <class Ready>
bool spin(uint64_t spin_ns, const Ready &ready) noexcept {
    /// A few times what threads that all run need to meet. Spinning longer only keeps the core from others.
    constexpr uint64_t kAloneNs = 3000;
    const uint64_t start = monotonic_clock().now_ns();
    uint64_t waited = 0;
    do {
        // A thread that is this late may have lost its core, and may be waiting for this very one.
        if (waited > kAloneNs) sched_yield();
        if (look_often(ready)) return true;
        waited = monotonic_clock().now_ns() - start;
    } while (waited < spin_ns);
    return false;
}

} // namespace mdist
