// SPDX-License-Identifier: Apache-2.0
// Replica: one device's part in a run, as a step sees it.
//
// Belongs to a frame and is used again by every run at that depth. While the step runs, only the thread that runs it
// touches it or, if the replica was entered (open_runs.h), whoever holds its handle, one thread at a time; the frame
// reads it when all steps are over.
#pragma once

#include "device/gpu/module.h"
#include "strategy/values/regroup.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

class Frame;
class Gradients;
class Strategy;

/// What the C edge keeps with a replica: its handle.
struct Attachment {
    virtual ~Attachment() = default;
};

class Replica {
  public:
    Replica(Strategy &strategy, Frame &frame, uint32_t local_index);

    Strategy &strategy() const { return strategy_; }
    Frame &frame() const { return frame_; }
    uint32_t local_index() const { return local_index_; }
    /// Over the whole job.
    uint32_t id() const;

    /// Throws INVALID_ARGUMENT for an index that the run does not have, and for a structure.
    const Tensor &argument(std::size_t index) const;
    /// Of a structure; "" where there is none.
    const Tensor &argument_at(std::size_t index, std::string_view path) const;
    void set_result(std::size_t index, Tensor tensor);
    void set_result_at(std::size_t index, std::string_view path, Tensor tensor);
    /// What was set for a result, which is unset again.
    Part take_result(std::size_t index);
    /// Sets one leaf of an argument of the next merge.
    void set_merge_argument_at(std::size_t index, std::string_view path, Tensor tensor);
    /// What was set for the next merge, by argument. Throws INVALID_ARGUMENT if that is more than `count`. All of it is
    /// unset again.
    std::vector<Part> take_merge_parts(std::size_t count);
    /// A tensor of the last merge's result; "" where that has no structure.
    const Tensor &merged_at(std::size_t index, std::string_view path) const;

    std::vector<Tensor> results;
    /// Those that were set at paths, by result; empty where none was.
    std::vector<Part> structured_results;
    /// Of the merge under way.
    std::vector<Part> merge_arguments;
    /// What the last merge gave, by result; nullptr for what it left alone.
    std::vector<ValuePointer> merged;
    /// The last call of the library that failed in this step: if the step then fails too, that was probably why.
    std::string last_failure;
    std::unique_ptr<Attachment> attachment;
    /// In whose rounds this replica is.
    std::vector<std::shared_ptr<Gradients>> gradients;
    /// For what replicas do together: throws FAILED_PRECONDITION where that cannot work (executor `caller`).
    void require_together(const char *function) const;
    /// The same for what the replica waits in: returns when all that it has started is over.
    void await_turn(const char *function);
    /// The step is over. What is still under way is ended, which fails the run: true then.
    bool end_work() noexcept;
    /// Waits for what its device was given, which is what leaving replica context takes. Throws DEVICE, TIMEOUT.
    void finish_device() const;
    /// Around a step: the device's stream and deadline are those before again when it ends, and everything is done.
    /// False if something there has failed, which fails the run.
    void begin_device();
    bool end_device() noexcept;

    /// Entered by mdist_replica_enter: its handle is its context, whatever the thread.
    std::atomic<bool> entered{false};
    /// Some thread is in a call with an entered replica.
    std::atomic<bool> in_use{false};
    /// Between mdist_merge_begin and mdist_merge_end, or in mdist_merge_call if it was entered.
    std::atomic<bool> merging{false};

  private:
    friend class Frame;

    bool leave_rounds() noexcept;
    void join_lanes() noexcept;

    Strategy &strategy_;
    Frame &frame_;
    uint32_t local_index_;
    std::vector<Part> merge_parts_; // set for the next merge
    mdist_gpu_stream *stream_before_ = nullptr;
    uint64_t timeout_before_ = 0;
};

} // namespace mdist
