// SPDX-License-Identifier: Apache-2.0
// Doubt: remembers whether it paid for waits to stay awake.
//
// The first wait that did not pay makes 1 later wait sleep at once, the second 2, the third 4, and so on up to 1024. A wait
// that did pay halves that number. So a thread on a busy machine tries seldom, and notices all the same when the machine
// gets quiet. Any thread: a race costs a count.
#pragma once

#include <atomic>
#include <cstdint>

namespace mdist {

class Doubt {
  public:
    /// Whether this wait should sleep at once.
    bool rests() noexcept {
        const uint32_t left = resting_.load(std::memory_order_relaxed);
        if (left == 0) return false;
        resting_.store(left - 1, std::memory_order_relaxed);
        return true;
    }
    /// Whether waits that stayed awake did not pay lately.
    bool any() const noexcept { return level_.load(std::memory_order_relaxed) != 0; }
    /// Says whether a wait that stayed awake did well to.
    void learn(bool paid) noexcept {
        const uint32_t level = level_.load(std::memory_order_relaxed);
        if (paid) {
            if (level > 0) level_.store(level - 1, std::memory_order_relaxed);
            return;
        }
        resting_.store(1u << level, std::memory_order_relaxed);
        if (level < kMostLevel) level_.store(level + 1, std::memory_order_relaxed);
    }

  private:
    static constexpr uint32_t kMostLevel = 10;

    std::atomic<uint32_t> level_{0};   // log2 of the waits that sleep at once after the next failure
    std::atomic<uint32_t> resting_{0}; // waits that still sleep at once
};

} // namespace mdist
