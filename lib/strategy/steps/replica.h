// SPDX-License-Identifier: Apache-2.0
// Replica: one device's part in a run, as the user's step sees it.
//
// Belongs to a frame. Every run at that depth uses it again. The frame reads it when all steps are over.
#pragma once

#include "device/gpu/module.h"
#include "strategy/job/party.h"
#include "strategy/values/regroup.h"
#include "util/callback.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

class Variable;
struct MailRun;

/// State shared by the replicas of a run.
struct Common {
    std::vector<ValuePointer> arguments;

    // What replica 0 leaves for the others in a merge or when they create a variable. It is written between two
    // meetings and read before the next.
    std::vector<ValuePointer> merged;
    bool merge_failed = false;
    uint64_t refusals = 0; // Group::refusals() before the merge
    std::shared_ptr<Variable> created;
    std::shared_ptr<Failure> create_failure;
    bool create_out_of_memory = false;

    void clear() noexcept {
        arguments.clear();
        merged.clear();
        created.reset();
        create_failure.reset();
    }
};

/// The last failed call of the library. Any thread: failed calls on a wrong thread count, too.
class LastFailure {
  public:
    void note(std::string sentence) noexcept;
    /// "" for none.
    std::string sentence() const;
    void clear() noexcept;

  private:
    mutable std::mutex mutex_;
    std::string sentence_;
    std::atomic<bool> any_{false}; // lets a step without failures skip the mutex
};

class Replica : public Party {
  public:
    Replica(Job &job, uint32_t local_index, Common &common) : Party(job, local_index), common_(common) {}

    Common &common() const { return common_; }
    /// Its run, for messages. Set by the frame.
    MailRun *run = nullptr;

    /// Throws INVALID_ARGUMENT if the run has no such argument, or if it is a structure.
    const Tensor &argument(std::size_t index);
    /// A leaf of a structure; path "" for an argument that is not a structure.
    const Tensor &argument_at(std::size_t index, std::string_view path);
    /// Sets a leaf of a structure; path "" for a result that is not a structure.
    void set_result(std::size_t index, std::string_view path, Tensor tensor);
    /// Returns what was set for a result, and unsets it.
    Part take_result(std::size_t index);
    /// Sets one leaf of an argument of the next merge.
    void set_merge_argument(std::size_t index, std::string_view path, Tensor tensor);
    /// Returns what was set for the next merge, by argument, and unsets all of it. Throws INVALID_ARGUMENT if more than
    /// `count` arguments were set.
    std::vector<Part> take_merge_parts(std::size_t count);
    /// A tensor of the last merge's result; path "" for a result that is not a structure.
    const Tensor &merged_at(std::size_t index, std::string_view path);
    /// What the step sees of a tensor of a value: the tensor itself, or a copy where the replica can use it. The copy
    /// lives as long as the run.
    const Tensor &near(const Tensor &tensor);

    std::vector<Tensor> results;
    /// Results that were set at paths, by result; empty for the others.
    std::vector<Part> structured_results;
    /// Arguments of the merge under way.
    std::vector<Part> merge_arguments;
    /// Results of the last merge; nullptr for those that it did not set.
    std::vector<ValuePointer> merged;
    /// The last call of the library that failed in this step. If the step then fails too, this was probably why.
    LastFailure last_failure;
    /// The failed step's own message. Belongs to the thread that ran the step.
    std::string said;

    Why why() const { return {said, last_failure.sentence()}; }

    /// Called when the step is over. Ends work that is still under way; returns true if there was any, which fails the
    /// run.
    bool end_work() noexcept;
    /// Called before and after a step. The end waits for the device's work, and restores the device's stream and
    /// deadline. It returns false if work on the device failed, which fails the run.
    void begin_device();
    bool end_device() noexcept;
    /// Called when a step has failed, or the body of a graph in it. In an elastic job: how its GPU has failed, or that
    /// it does not end its work, if that is so. The step may have failed because of it, and the job can go on without
    /// this worker. Drops what the step has begun to record.
    std::optional<Failure> lost_device() noexcept;
    /// Drops everything of the run that has ended.
    void clear() noexcept;

    /// A thread is in a call with this entered replica.
    std::atomic<bool> in_use{false};
    /// Between mdist_merge_begin and mdist_merge_end; for an entered replica, also in mdist_merge_call.
    std::atomic<bool> merging{false};

  private:
    bool leave_unfinished() noexcept;
    void join_lanes() noexcept;

    Common &common_;
    struct Near {
        Tensor tensor; // holds the memory, so nothing else comes to lie there
        Tensor copy;
    };

    std::vector<Part> merge_parts_; // set for the next merge
    std::deque<Near> near_;         // a deque: what near() has returned stays where it is
    mdist_gpu_stream *stream_before_ = nullptr;
    uint64_t timeout_before_ = 0;
};

} // namespace mdist
