// SPDX-License-Identifier: Apache-2.0
// Frame: one run of a step on all local replicas, from its arguments to its results. A strategy keeps one frame per
// depth: 0 for a run, 1 for a run inside a merge of that, and so on.
#pragma once

#include "strategy/replica.h"
#include "util/function_ref.h"

#include <memory>
#include <vector>

namespace mdist {

class Failure;
class Group;
class Variable;

/// The user's step, as the C edge wraps it.
using Step = FunctionRef<int32_t(Replica &)>;
/// The user's merge function: makes `results` from regrouped arguments. Throws or returns non-zero to fail.
using Merge = FunctionRef<int32_t(const std::vector<ValuePointer> &arguments, std::vector<ValuePointer> &results)>;

/// Hands the group the failure of a user's function, as CALLBACK with that sentence; if there is no memory for the
/// words, that alone.
void release_callback(Group &group, const char *operation, uint32_t replica, int64_t native,
                      FunctionRef<std::string()> sentence) noexcept;
/// Hands the group a failure, with the operation and replica where it has none.
void release_failure(Group &group, const char *operation, uint32_t replica, const Failure &failure) noexcept;
/// For a step that ended its thread.
void release_ended(Group &group, uint32_t replica) noexcept;

class Frame {
  public:
    Frame(Strategy &strategy, uint32_t depth);

    uint32_t depth() const { return depth_; }
    Replica &replica(uint32_t local) { return *replicas_[local]; }
    const std::vector<ValuePointer> &arguments() const { return arguments_; }
    std::size_t result_count() const { return result_count_; }

    void begin(std::vector<ValuePointer> arguments, std::size_t result_count);
    /// Runs the step of one replica and leaves the group; a failure is the group's to keep. Throws nothing but a forced
    /// unwind.
    void execute(uint32_t local, const Step &step);
    /// Values of all results, nullptr where no replica set one. Throws MISMATCH where only some did, or at other paths.
    std::vector<ValuePointer> take_results();
    /// Drops arguments and results.
    void clear() noexcept;

    // What replica 0 leaves for the others in a merge or a joint creation: written between two meetings, read before
    // the next.
    struct Shared {
        std::vector<ValuePointer> merged;
        bool merge_failed = false;
        std::shared_ptr<Variable> created;
        std::shared_ptr<Failure> create_failure;
        bool create_out_of_memory = false;
    };
    Shared shared;

  private:
    ValuePointer take_tensors(std::size_t index);
    ValuePointer take_parts(std::size_t index);

    Strategy &strategy_;
    const uint32_t depth_;
    std::vector<std::unique_ptr<Replica>> replicas_;
    std::vector<ValuePointer> arguments_;
    std::size_t result_count_ = 0;
};

} // namespace mdist
