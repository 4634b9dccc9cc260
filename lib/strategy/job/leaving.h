// SPDX-License-Identifier: Apache-2.0
// Leaving: a worker hears that it must go, and all workers decide together what they do about it, at the same step.
#pragma once

#include "util/clock.h"

#include <atomic>
#include <cstdint>

namespace mdist {

class Job;

class Leaving {
  public:
    struct Answer {
        int32_t verdict; // mdist_verdict_t
        uint32_t rank;   // of the first worker that goes; MDIST_NONE: none has said so
    };

    explicit Leaving(Job &job, const Clock &clock = monotonic_clock()) : job_(job), clock_(clock) {}

    /// Records that this worker goes, once. Any thread, and in signal handlers.
    void announce(uint64_t grace_ns) noexcept;
    bool announced() const { return ends_ns_.load() != 0; }
    /// Lets all workers decide. Needs the turn; all workers call it.
    Answer check(uint64_t timeout_ns);

  private:
    /// The state of one worker, in order of urgency.
    enum Standing : uint8_t { kStays, kGoes, kMustEnd };
    Standing own_standing();
    bool wants_regroup() const;

    Job &job_;
    const Clock &clock_;
    std::atomic<uint64_t> ends_ns_{0}; // when this worker is gone; 0: it stays
    static_assert(std::atomic<uint64_t>::is_always_lock_free);
    uint64_t last_check_ns_ = 0;
    uint64_t longest_ns_ = 0; // the longest time between two checks
    bool saved_ = false;      // the workers were told to save
};

} // namespace mdist
