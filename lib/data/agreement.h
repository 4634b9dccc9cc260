// SPDX-License-Identifier: Apache-2.0
// Agreement: a word among the workers in each step of input, on the thread that asks for the element.
#pragma once

#include "data/element.h"
#include "util/function_ref.h"

#include <cstdint>

namespace mdist {

class Agreement {
  public:
    virtual ~Agreement() = default;
    /// Throws where the workers cannot speak with each other now: in a step, or while another thread works with the
    /// strategy. Nothing is lost then.
    virtual void require_place() = 0;
    /// Gives what `take` says that the local replicas have got, as its i-th number (kNone: no sub-batch), and returns
    /// that of all replicas of the job, by id. What `take` throws on one worker is thrown on all, in the same words.
    virtual StepRows agree(FunctionRef<StepRows()> take) = 0;

    static constexpr uint64_t kNone = ~uint64_t{0};
};

} // namespace mdist
