// SPDX-License-Identifier: Apache-2.0
// Series: the numbers that determine the shuffle orders of one iteration. There is one for each shuffle that
// reshuffles, in the order in which the streams are opened. A position is these numbers and the count of elements
// taken.
//
// Normally the number is the count of earlier iterations of the shuffle's dataset. A restored iteration uses the saved
// numbers instead. When it is committed, it advances the counters past them, so that later iterations go on as they
// would have.
//
// A dataset of which workers open different parts has one number for all of them: each part gets a Series::same().
// Streams are opened by one thread. refuse() may come from any thread.
#pragma once

#include "util/failure.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace mdist {

/// Counts the iterations of a dataset.
using Counter = std::atomic<uint64_t>;

class Series {
  public:
    Series() = default;
    /// For an iteration that is restored.
    explicit Series(std::vector<uint64_t> saved) : saved_(std::move(saved)) {}
    /// Gives `number` to every shuffle. `outer` is told of refusals.
    static std::shared_ptr<Series> same(uint64_t number, std::shared_ptr<Series> outer);

    bool restored() const { return saved_.has_value(); }
    const std::vector<uint64_t> &numbers() const { return numbers_; }
    /// Returns the number of the next shuffle, which has `counter`.
    uint64_t next(const std::shared_ptr<Counter> &counter);

    /// Declares that the position cannot be saved from now on. The first reason is kept.
    void refuse(Failure why);
    /// Throws the reason, if the position cannot be saved.
    void require_exact() const;
    /// Tells whether the iteration has used exactly as many numbers as were saved.
    bool complete() const { return !saved_ || saved_->size() == numbers_.size(); }
    void commit() noexcept;

  private:
    std::optional<std::vector<uint64_t>> saved_;
    std::optional<uint64_t> same_;  // of a Series::same()
    std::shared_ptr<Series> outer_; // likewise
    std::vector<uint64_t> numbers_;
    std::vector<std::shared_ptr<Counter>> counters_; // only of a restored iteration
    mutable std::mutex mutex_;
    std::optional<Failure> refusal_;
};

} // namespace mdist
