// SPDX-License-Identifier: Apache-2.0
// Agreement: how the workers agree, step by step, whether a step of input takes place. It runs on the thread that asks
// for the element.
#pragma once

#include "data/element.h"
#include "util/function_ref.h"

#include <cstdint>

namespace mdist {

class Agreement {
  public:
    virtual ~Agreement() = default;
    /// Throws if the workers cannot communicate now: inside a step, or while another thread uses the strategy. No
    /// element is lost then.
    virtual void require_place() = 0;
    /// Exchanges row counts. `take` returns the rows that each local replica got, in order (kNone: no sub-batch). The
    /// result holds those of all replicas of the job, by id. If `take` throws on one worker, all workers throw the same
    /// message.
    virtual StepRows agree(FunctionRef<StepRows()> take) = 0;

    static constexpr uint64_t kNone = ~uint64_t{0};
};

} // namespace mdist
