// SPDX-License-Identifier: Apache-2.0
// Account: what a habit has saved and lost, in ns. While the losses exceed the savings, the thread does without the
// habit, and makes a little good each time. So over many times it loses no more than that for each, and it tries again
// when that is earned. Any thread: a race costs an entry.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace mdist {

class Account {
  public:
    static constexpr uint64_t kMadeGoodNs = 2000;

    /// `made_good_ns`: what each time without the habit makes good, and so the most that it costs a time on average.
    constexpr explicit Account(uint64_t made_good_ns = kMadeGoodNs)
        : made_good_ns_(static_cast<int64_t>(made_good_ns)) {}

    bool overdrawn() const { return saved() < 0; }
    /// Whether to do without the habit this time. That makes something good.
    bool rests() {
        if (!overdrawn()) return false;
        set(saved() + made_good_ns_);
        return true;
    }
    void save(uint64_t ns) { set(std::min(saved() + bounded(ns), kMostSavedNs)); }
    void lose(uint64_t ns) { set(saved() - bounded(ns)); }

  private:
    /// Enough for one loss now and then.
    static constexpr int64_t kMostSavedNs = 3'000'000;
    /// The most that counts at once: some time slices. A process that was stopped for longer learns nothing from that.
    static constexpr uint64_t kMostNs = 40'000'000;

    int64_t saved() const { return saved_ns_.load(std::memory_order_relaxed); }
    void set(int64_t ns) { saved_ns_.store(ns, std::memory_order_relaxed); }
    static int64_t bounded(uint64_t ns) { return static_cast<int64_t>(std::min(ns, kMostNs)); }

    const int64_t made_good_ns_;
    std::atomic<int64_t> saved_ns_{0}; // less what was lost
};

} // namespace mdist
