// SPDX-License-Identifier: Apache-2.0
// Minimal barriers, used as floors and to line threads up before the clock starts. One thread per party. A barrier may
// be used again at once.
#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

namespace mdist {

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Waits awake: spins if every party has a core, else yields its core to the others. It is one number on one cache line
/// that only goes up. Of the usual barriers this is by far the fastest, since its cost is only the cache line's way
/// from core to core.
class Barrier {
  public:
    Barrier(uint32_t parties, uint32_t cpus) : parties_(parties), yields_(parties > cpus) {}

    void wait() {
        const uint64_t goal = (arrived_.fetch_add(1, std::memory_order_acq_rel) / parties_ + 1) * parties_;
        while (arrived_.load(std::memory_order_acquire) < goal) {
            if (yields_) {
                sched_yield();
            } else {
                relax();
            }
        }
    }

  private:
    const uint32_t parties_;
    const bool yields_;
    alignas(64) std::atomic<uint64_t> arrived_{0};
};

/// Waits asleep, so that idle threads take no core from those being measured.
class Gate {
  public:
    explicit Gate(uint32_t parties) : parties_(parties) {}

    void wait() {
        const uint32_t generation = generation_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
            arrived_.store(0, std::memory_order_relaxed);
            generation_.store(generation + 1, std::memory_order_release);
            generation_.notify_all();
            return;
        }
        generation_.wait(generation, std::memory_order_acquire);
    }

  private:
    const uint32_t parties_;
    std::atomic<uint32_t> arrived_{0};
    std::atomic<uint32_t> generation_{0};
};

} // namespace mdist
