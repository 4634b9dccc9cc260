// SPDX-License-Identifier: Apache-2.0
// Replica: one device's part in a run, as a step sees it.
//
// Belongs to a frame and is used again by every run at that depth. Only the thread that runs its step touches it while
// the step runs; the frame reads it when all steps are over.
#pragma once

#include "strategy/value.h"

#include <memory>
#include <string>
#include <vector>

namespace mdist {

class Frame;
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

    /// Throws INVALID_ARGUMENT for an index that the run does not have.
    const Tensor &argument(std::size_t index) const;
    void set_result(std::size_t index, Tensor tensor);

    std::vector<Tensor> results;
    std::vector<Tensor> merge_arguments;
    std::vector<Tensor> merge_results;
    /// The last call of the library that failed in this step: if the step then fails too, that was probably why.
    std::string last_failure;
    std::unique_ptr<Attachment> attachment;

  private:
    Strategy &strategy_;
    Frame &frame_;
    uint32_t local_index_;
};

} // namespace mdist
