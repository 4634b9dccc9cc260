// SPDX-License-Identifier: Apache-2.0
#include "util/event_count.h"

#include "util/account.h"
#include "util/clock.h"
#include "util/spin.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <utility>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {
namespace {

/// This thread has just woken others, or was woken. They may be waiting for its very core: the kernel likes to put a
/// woken thread where its waker runs.
thread_local bool shares_core = false;
thread_local Account yields; // of giving the core away

/// After a wake, gives the core away once. If somebody computes on that core, this costs a time slice. Later waits then
/// keep their core until they have made that good.
void give_core_after_wake() noexcept {
    constexpr uint64_t kLongNs = 500'000;
    if (!std::exchange(shares_core, false) || yields.rests()) return;
    const uint64_t start = monotonic_clock().now_ns();
    sched_yield();
    const uint64_t away_ns = monotonic_clock().now_ns() - start;
    if (away_ns >= kLongNs) yields.lose(away_ns);
}

} // namespace

Patience Patience::for_threads(uint32_t threads, uint32_t cpus) {
    constexpr uint64_t kSpinNs = 50'000; // about the cost of the wake that a spin may save
    constexpr uint32_t kYields = 200;
    if (threads <= 1) return {};
    return threads <= cpus ? Patience{kSpinNs, 0} : Patience{0, kYields};
}

bool EventCount::wait(uint32_t seen, const Patience &patience, uint64_t timeout_ns) const noexcept {
    const auto changed = [&] { return now() != seen; };
    if (changed()) return true;
    give_core_after_wake();
    // Look a few times before reading the clock, which costs as much as a short wait.
    if (patience.spin_ns != 0 && (look_often(changed) || spin(patience.spin_ns, changed))) return true;
    for (uint32_t i = 0; i < patience.yields; ++i) {
        if (now() != seen) return true;
        sched_yield();
    }
    return sleep(seen, timeout_ns);
}

bool EventCount::wait(uint32_t seen, const Patience &patience, uint64_t timeout_ns, LongWait &long_wait,
                      LongWait::Describe describe) const noexcept {
    uint64_t left = timeout_ns;
    for (;;) {
        const uint64_t next_look = long_wait.slice_ns();
        const uint64_t slice = std::min(left, next_look);
        if (wait(seen, patience, slice)) return true;
        if (slice == next_look) long_wait.look(describe); // a wait that times out earlier is not long
        if (slice == left) return false;
        if (left != kNoDeadline) left -= slice;
    }
}

bool EventCount::sleep(uint32_t seen, uint64_t timeout_ns) const noexcept {
    const uint64_t start = monotonic_clock().now_ns();
    const uint64_t deadline = timeout_ns > kNoDeadline - start ? kNoDeadline : start + timeout_ns;
    const timespec at = timespec_of(deadline);
    bool changed = false;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (!(changed = now() != seen)) {
        // The time is absolute, so that interruptions do not add up. The kernel compares the number before it sleeps.
        const long result = syscall(SYS_futex, &value_, FUTEX_WAIT_BITSET_PRIVATE, seen,
                                    deadline == kNoDeadline ? nullptr : &at, nullptr, FUTEX_BITSET_MATCH_ANY);
        if (result == -1 && errno == ETIMEDOUT) {
            changed = now() != seen;
            break;
        }
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    shares_core = true;
    return changed;
}

void EventCount::wake() noexcept {
    syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    shares_core = true;
}

} // namespace mdist
