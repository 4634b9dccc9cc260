// SPDX-License-Identifier: Apache-2.0
// EventCount: a number that goes up, and threads that wait for it to change. The only way threads of the library wait
// for each other on a hot path. Its owner puts it on a cache line with what the same
// threads write at the same moment: a line going from core to core is what waiting costs.
//
// A waiter looks at the number first, then at whatever it waits for, then calls wait() with the number it saw; so no
// advance is ever missed. advance() makes everything written before it visible to whoever sees the new number.
#pragma once

#include <atomic>
#include <cstdint>

namespace mdist {

/// How long to stay awake before sleeping. A futex wake costs some 50 us on a virtual machine, a spin some 50 ns; but
/// spinning while another thread needs the core costs that thread a whole time slice.
struct Patience {
    uint64_t spin_ns = 0;
    uint32_t yields = 0;

    /// For `threads` that wait for each other on `cpus`: spin where everybody has a core, else yield to those that lag.
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

    /// Returns when the number is no longer `seen`, true; or after `timeout_ns` of sleep (kNoDeadline: never), false.
    bool wait(uint32_t seen, const Patience &patience, uint64_t timeout_ns) const noexcept;

  private:
    void wake() noexcept;
    bool spun(uint32_t seen) const noexcept;
    bool sleep(uint32_t seen, uint64_t timeout_ns) const noexcept;

    std::atomic<uint32_t> value_{0};
    mutable std::atomic<uint32_t> sleepers_{0};
};

} // namespace mdist
