// SPDX-License-Identifier: Apache-2.0
// Preemption: what this worker was told, and what all of them conclude from it.
#pragma once

#include "strategy/strategy.h"
#include "util/clock.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace mdist {

class Preemption {
  public:
    struct Answer {
        int32_t verdict; // mdist_preemption_verdict_t
        int32_t worker;
    };

    Preemption(std::shared_ptr<Strategy> strategy, uint64_t grace_ns, const Clock &clock = monotonic_clock())
        : strategy_(std::move(strategy)), grace_ns_(grace_ns), clock_(clock) {}

    Strategy &strategy() const { return *strategy_; }

    /// Any thread, and in signal handlers.
    void announce() noexcept;
    /// With the strategy's turn, on all workers.
    Answer check(uint64_t timeout_ns);

  private:
    /// How things stand with one worker, in the order of urgency.
    enum Standing : uint8_t { kStays, kGoes, kMustEnd };
    Standing own_standing();

    const std::shared_ptr<Strategy> strategy_;
    const uint64_t grace_ns_;
    const Clock &clock_;
    std::atomic<uint64_t> announced_ns_{0}; // 0: not
    static_assert(std::atomic<uint64_t>::is_always_lock_free);
    uint64_t last_check_ns_ = 0;
    uint64_t longest_ns_ = 0; // between two checks
    bool saved_ = false;      // all were told to, the first time
};

} // namespace mdist
