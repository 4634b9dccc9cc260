// SPDX-License-Identifier: Apache-2.0
// Frame: one run of a step on all local replicas, from its arguments to its results. A strategy keeps one frame per
// nesting depth: 0 for a run, 1 for a run inside a merge of that run, and so on.
#pragma once

#include "strategy/steps/replica.h"
#include "util/function_ref.h"

#include <memory>
#include <vector>

namespace mdist {

/// The user's step, wrapped by the C API.
using Step = FunctionRef<int32_t(Replica &)>;

class Frame {
  public:
    explicit Frame(Job &job);

    Replica &replica(uint32_t local) { return *replicas_[local]; }
    uint32_t replica_count() const { return static_cast<uint32_t>(replicas_.size()); }
    std::size_t result_count() const { return result_count_; }

    /// `timeout_ns` applies to collectives in the step that have no timeout of their own; 0: the group's.
    void begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns);
    /// Runs the step of one replica, which then leaves the group. The group records a failure. Throws nothing but a
    /// forced unwind.
    void execute(uint32_t local, const Step &step);
    /// Returns all results; nullptr for one that no replica set. Throws MISMATCH if only some replicas set it, or at
    /// other paths.
    std::vector<ValuePointer> take_results();
    /// The first failure of the run. Adds the failure of an earlier call if a step returned too soon because of it.
    Failure explained(const Failure &cause) const;
    /// Drops arguments and results. No replica may be in the group.
    void end() noexcept;

    Common common;

  private:
    ValuePointer take_tensors(std::size_t index);
    ValuePointer take_parts(std::size_t index);

    Job &job_;
    std::vector<std::unique_ptr<Replica>> replicas_;
    std::size_t result_count_ = 0;
    MailRun *run_ = nullptr; // for messages
    uint64_t timeout_before_ = 0;
};

} // namespace mdist
