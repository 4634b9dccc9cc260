// SPDX-License-Identifier: Apache-2.0
#include "util/event_count.h"

#include "util/clock.h"

#include <cerrno>
#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {
namespace {

void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Pauses between two looks at the clock: some microseconds' worth at most.
constexpr uint32_t kPausesPerLook = 32;
/// Spinning that long holds the core for itself; a few times what threads that all run need to meet.
constexpr uint64_t kAloneNs = 3000;

} // namespace

Patience Patience::for_threads(uint32_t threads, uint32_t cpus) {
    constexpr uint64_t kSpinNs = 50'000; // about the cost of the wake that it may save
    constexpr uint32_t kYields = 200;
    if (threads <= 1) return {};
    return threads <= cpus ? Patience{kSpinNs, 0} : Patience{0, kYields};
}

bool EventCount::spun(uint32_t seen) const noexcept {
    for (uint32_t i = 0; i < kPausesPerLook; ++i) {
        if (now() != seen) return true;
        relax();
    }
    return false;
}

bool EventCount::wait(uint32_t seen, const Patience &patience, uint64_t timeout_ns) const noexcept {
    if (patience.spin_ns != 0) {
        if (spun(seen)) return true; // before a look at the clock, which costs as much as what is waited for
        const uint64_t start = monotonic_clock().now_ns();
        uint64_t waited = 0;
        do {
            // Whoever is that late has perhaps lost its core, and it may be this one that it waits for.
            if (waited > kAloneNs) sched_yield();
            if (spun(seen)) return true;
            waited = monotonic_clock().now_ns() - start;
        } while (waited < patience.spin_ns);
    }
    for (uint32_t i = 0; i < patience.yields; ++i) {
        if (now() != seen) return true;
        sched_yield();
    }
    return sleep(seen, timeout_ns);
}

bool EventCount::sleep(uint32_t seen, uint64_t timeout_ns) const noexcept {
    const uint64_t start = monotonic_clock().now_ns();
    const uint64_t deadline = timeout_ns > kNoDeadline - start ? kNoDeadline : start + timeout_ns;
    const timespec at = {static_cast<time_t>(deadline / 1'000'000'000u), static_cast<long>(deadline % 1'000'000'000u)};
    bool changed = false;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (!(changed = now() != seen)) {
        // An absolute time, so that interruptions do not add up. The kernel compares again before it sleeps.
        const long result = syscall(SYS_futex, &value_, FUTEX_WAIT_BITSET_PRIVATE, seen,
                                    deadline == kNoDeadline ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
        if (result == -1 && errno == ETIMEDOUT) {
            changed = now() != seen;
            break;
        }
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    return changed;
}

void EventCount::wake() noexcept {
    syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace mdist
