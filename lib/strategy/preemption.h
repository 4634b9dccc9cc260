// SPDX-License-Identifier: Apache-2.0
// Preemption: collects the notice that a worker must end soon, and lets all workers decide together when to save a
// checkpoint and when to end.
#pragma once

#include "strategy/job/job.h"
#include "util/clock.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace mdist {

class Preemption {
  public:
    struct Answer {
        int32_t verdict; // mdist_preemption_verdict_t
        uint32_t worker; // MDIST_NONE before an announcement
    };

    Preemption(std::shared_ptr<Job> job, uint64_t grace_ns, const Clock &clock = monotonic_clock())
        : job_(std::move(job)), grace_ns_(grace_ns), clock_(clock) {}

    Job &job() const { return *job_; }

    /// Records the notice. Any thread, and in signal handlers.
    void announce() noexcept;
    /// Lets all workers decide. Needs the turn; all workers call it.
    Answer check(uint64_t timeout_ns);

  private:
    /// The state of one worker, in order of urgency.
    enum Standing : uint8_t { kStays, kGoes, kMustEnd };
    Standing own_standing();

    const std::shared_ptr<Job> job_;
    const uint64_t grace_ns_;
    const Clock &clock_;
    std::atomic<uint64_t> announced_ns_{0}; // 0: not announced
    static_assert(std::atomic<uint64_t>::is_always_lock_free);
    uint64_t last_check_ns_ = 0;
    uint64_t longest_ns_ = 0; // the longest time between two checks
    bool saved_ = false;      // the workers were told to save
};

} // namespace mdist
