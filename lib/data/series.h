// SPDX-License-Identifier: Apache-2.0
// Series: the numbers by which the shuffles of one iteration choose their orders, in the order in which their streams
// are opened. Together with how many elements were taken they say where the iteration stands.
//
// A shuffle counts the iterations of its dataset; one that is restored has the numbers that were saved instead, and
// takes the counts past them when it comes to pass (commit), so that later iterations go on as they would have.
// Opening streams is one thread's business; refuse() may come from any.
#pragma once

#include "util/failure.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace mdist {

/// How many iterations a dataset has had.
using Counter = std::atomic<uint64_t>;

class Series {
  public:
    Series() = default;
    /// Of an iteration that is restored.
    explicit Series(std::vector<uint64_t> saved) : saved_(std::move(saved)) {}

    bool restored() const { return saved_.has_value(); }
    const std::vector<uint64_t> &numbers() const { return numbers_; }
    /// The next number, of a shuffle that has `counter`.
    uint64_t next(const std::shared_ptr<Counter> &counter);

    /// The position can't be saved from now on, and why.
    void refuse(Failure why);
    /// Throws that.
    void require_exact() const;
    /// Whether there were as many numbers as were saved.
    bool complete() const { return !saved_ || saved_->size() == numbers_.size(); }
    void commit() noexcept;

  private:
    std::optional<std::vector<uint64_t>> saved_;
    std::vector<uint64_t> numbers_;
    std::vector<std::shared_ptr<Counter>> counters_; // of a restored one
    mutable std::mutex mutex_;
    std::optional<Failure> refusal_;
};

} // namespace mdist
