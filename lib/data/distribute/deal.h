// SPDX-License-Identifier: Apache-2.0
// Elements for replicas: sub-batches taken in turns, and what becomes of replicas and workers for whom there are none.
#pragma once

#include "data/dataset.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

/// A word among the workers at the beginning of a step of input, on the thread that asks for the element.
class Agreement {
  public:
    virtual ~Agreement() = default;
    /// Gives what local replica i has got as rows[i] (kNone: no sub-batch), and receives that of all replicas of the
    /// job, by id. Throws what ended the job, and on all workers alike what one of them told by fail().
    virtual std::vector<uint64_t> rows(const std::vector<uint64_t> &mine) = 0;
    /// This worker can't make its next element: all hear of it in place of rows().
    virtual void fail(const Failure &failure) noexcept = 0;

    static constexpr uint64_t kNone = ~uint64_t{0};
};

struct Deal {
    uint64_t replicas = 1; // of this worker
    /// A step of which only some replicas have a sub-batch: the others get one of no rows; else that is the end.
    bool partial = true;
};

/// Elements of `deal.replicas` consecutive ones of `parts`, of one replica each. Where the iteration has an agreement,
/// a step takes place while any worker has something for it.
std::shared_ptr<Dataset> make_dealt(std::shared_ptr<const Dataset> parts, const Deal &deal);

} // namespace mdist
