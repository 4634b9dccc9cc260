// SPDX-License-Identifier: Apache-2.0
// Verdict: which failed worker brought the job down. When one worker fails, the others soon detect that and fail too,
// and some may end before it does. The evidence, strongest first:
// - a worker was killed, within a moment of the first failure;
// - a worker was stopped when the first one failed, so the others may have missed it;
// - a worker left the others before they failed;
// - a worker ended first.
// Main thread.
#pragma once

#include "launch/ending.h"
#include "launch/worker.h"

#include <cstdint>
#include <vector>

namespace mdist {

class Verdict {
  public:
    /// `patience`: how long after the first failure a killed worker may be its cause.
    explicit Verdict(Clock::duration patience) : patience_(patience) {}

    /// Adds a worker that failed without having been told to end. Call it in the order in which they ended.
    void add(const Worker &failed, Time now) {
        if (failed_.empty()) due_ = now + patience_;
        failed_.push_back(&failed);
        if (killed_ == nullptr && failed.was_killed() && (failed_.size() == 1 || now < due_)) killed_ = &failed;
    }
    /// At the first failure, a worker that runs was stopped.
    void note_stopped(const Worker &stopped) { stopped_ = &stopped; }
    bool has_failed() const { return !failed_.empty(); }
    /// The first that failed, whatever the cause.
    const Worker *first() const { return failed_.empty() ? nullptr : failed_.front(); }
    /// Whether the verdict is final, once a worker has failed.
    bool is_due(Time now) const { return killed_ != nullptr || now >= due_; }
    Time due() const { return due_; }
    /// Returns the cause; null if no worker failed. `first_gone`: the rank of the worker that left the others, or
    /// MDIST_NONE.
    const Worker *cause(uint32_t first_gone) const {
        if (killed_ != nullptr) return killed_;
        if (stopped_ != nullptr && !(stopped_->ended() && stopped_->ended_well())) return stopped_; // else it went on
        for (const Worker *failed : failed_)
            if (failed->place().rank == first_gone) return failed;
        return failed_.empty() ? nullptr : failed_.front();
    }

  private:
    Clock::duration patience_;
    Time due_;
    const Worker *killed_ = nullptr;
    const Worker *stopped_ = nullptr;
    std::vector<const Worker *> failed_;
};

} // namespace mdist
