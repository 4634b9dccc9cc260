// SPDX-License-Identifier: Apache-2.0
// Leaving: what a worker knows of its own end. check_membership.h lets all workers decide what they do about it.
#pragma once

#include "util/clock.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace mdist {

class Leaving {
  public:
    /// The state of one worker, in order of urgency.
    enum Standing : uint8_t { kStays, kGoes, kMustEnd };

    explicit Leaving(const Clock &clock = monotonic_clock()) : clock_(clock) {}

    /// Records that this worker goes, once. Any thread, and in signal handlers.
    void announce(uint64_t grace_ns) noexcept {
        const uint64_t now = clock_.now_ns();
        uint64_t stays = 0;
        ends_ns_.compare_exchange_strong(stays, now + std::min(grace_ns, UINT64_MAX - now));
    }
    bool announced() const { return ends_ns_.load() != 0; }
    /// Where it stands, as the next check begins. It must end if two checks may take longer than is left. Needs the
    /// turn.
    Standing check() {
        const uint64_t now = clock_.now_ns(), ends = ends_ns_.load();
        if (last_check_ns_ != 0) longest_ns_ = std::max(longest_ns_, now - last_check_ns_);
        last_check_ns_ = now;
        if (ends == 0) return kStays;
        return ends <= now || ends - now <= 2 * longest_ns_ ? kMustEnd : kGoes;
    }
    /// Whether the workers are told to save for the first time. Needs the turn.
    bool first_save() { return !std::exchange(saved_, true); }

  private:
    const Clock &clock_;
    std::atomic<uint64_t> ends_ns_{0}; // when this worker is gone; 0: it stays
    static_assert(std::atomic<uint64_t>::is_always_lock_free);
    uint64_t last_check_ns_ = 0;
    uint64_t longest_ns_ = 0; // the longest time between two checks
    bool saved_ = false;
};

} // namespace mdist
