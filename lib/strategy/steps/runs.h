// SPDX-License-Identifier: Apache-2.0
// Runs: runs steps on all local replicas, with the merges inside them. There is one frame for each nesting depth: for a
// run, for a run in a merge of that run, and so on.
//
// Needs the turn; the replicas' threads call merge().
#pragma once

#include "strategy/steps/frame.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace mdist {

/// The user's merge function: computes `results` from regrouped arguments. Throws or returns non-zero to fail.
using Merge = FunctionRef<void(const std::vector<ValuePointer> &arguments, std::vector<ValuePointer> &results)>;

class Runs {
  public:
    explicit Runs(Job &job);

    Job &job() const { return job_; }

    /// Takes the turn and runs `step` on every local replica. Stores the values in `results`. Throws the first failure.
    /// `timeout_ns` applies to collectives in the step that have no timeout of their own; 0: the strategy's.
    void run(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
             uint64_t timeout_ns);
    /// The same for a caller that has the turn.
    void run_with_turn(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
                       uint64_t timeout_ns);
    /// Called by each local replica in its step of a run(). Each gets its own part of the results in `merged`.
    void merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
               uint64_t timeout_ns);

    /// Refuses what cannot run, and does what must precede the first run. Hold no lock: that waits for other workers,
    /// and calls functions of the program.
    void prepare(const std::vector<ValuePointer> &arguments);
    /// Returns the next frame, for a run whose steps are called by others. Call prepare() first, in the same turn.
    Frame &begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns);
    /// Ends the innermost run. All replicas have left the group, which can be used again.
    void end(Frame &frame) noexcept;

    /// Makes the replicas anew, for the next generation of an elastic job. Their handles have ended. No run may be
    /// open.
    void span_changed();
    /// Sets a function to call once, with the turn, before the next run that is in no other begins.
    void before_next(std::function<void()> call) { before_next_ = std::move(call); }

    /// Called when no run can follow: drops what the C API keeps with replicas.
    void drop_attachments() noexcept;

  private:
    void run_frame(Frame &frame, const Step &step);
    void run_merge(Replica &replica, const Merge &merge, std::size_t result_count);

    Job &job_;
    std::vector<std::unique_ptr<Frame>> frames_;
    uint32_t depth_ = 0; // of the next run
    std::function<void()> before_next_;
};

} // namespace mdist
