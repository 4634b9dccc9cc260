// SPDX-License-Identifier: Apache-2.0
// EventCount: a number that only goes up, and threads that wait for it to change. Threads of the library wait for each
// other on hot paths in this way only. The owner of an EventCount puts it on a cache line with data that the same
// threads write at the same moment: moving a line from core to core is what waiting costs.
//
// A waiter reads the number first, then looks at what it waits for, then calls wait() with the number it read. So it
// never misses an advance. advance() makes all earlier writes visible to a thread that sees the new number.
#pragma once

#include "util/long_wait.h"

#include <atomic>
#include <cstdint>

namespace mdist {

/// How long a waiter stays awake before it sleeps. A futex wake costs some 50 us on a virtual machine, a spin some
/// 50 ns. But spinning while another thread needs the core costs that thread a whole time slice.
struct Patience {
    uint64_t spin_ns = 0;
    uint32_t yields = 0;

    /// For `threads` that wait for each other on `cpus`: spins if every thread has a core, else yields to the others.
    static Patience for_threads(uint32_t threads, uint32_t cpus);
};

constexpr uint64_t kNoDeadline = UINT64_MAX;

class EventCount {
  public:
    uint32_t now() const noexcept { return value_.load(std::memory_order_seq_cst); }

    void advance() noexcept {
        value_.fetch_add(1, std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_seq_cst) != 0) wake();
    }

    /// Waits until the number is no longer `seen` and returns true. Returns false after `timeout_ns` of sleep
    /// (kNoDeadline: never).
    bool wait(uint32_t seen, const Patience &patience, uint64_t timeout_ns) const noexcept;
    /// The same, and logs a warning when the wait gets long.
    bool wait(uint32_t seen, const Patience &patience, uint64_t timeout_ns, LongWait &long_wait,
              LongWait::Describe describe) const noexcept;

  private:
    void wake() noexcept;
    bool sleep(uint32_t seen, uint64_t timeout_ns) const noexcept;

    std::atomic<uint32_t> value_{0};
    mutable std::atomic<uint32_t> sleepers_{0};
};

} // namespace mdist
