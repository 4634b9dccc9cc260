// SPDX-License-Identifier: Apache-2.0
// Joiner: joins consecutive elements into one, along a new first dimension. It can be used again for the next element.
// For one thread at a time.
#pragma once

#include "data/element.h"
#include "util/failure.h"

#include <cstdint>
#include <vector>

namespace mdist {

class Joiner {
  public:
    /// Returns where to write the next element. Call accept() once it is written.
    Element &place() {
        if (used_ == runs_.size()) runs_.emplace_back();
        return runs_[used_].first;
    }
    void accept() {
        ++count_;
        Run &run = runs_[used_];
        if (used_ != 0 && run.first.follows(runs_[used_ - 1].first, runs_[used_ - 1].count)) {
            ++runs_[used_ - 1].count;
            return;
        }
        run.count = 1;
        ++used_;
    }
    uint64_t count() const { return count_; }

    /// Joins all that were accepted; there must be at least one. Throws MISMATCH if shapes differ.
    Element join();

  private:
    // Elements that lie one after the other in memory. They are copied in one go.
    struct Run {
        Element first;
        uint64_t count = 0;
    };

    void check_shapes() const;
    void check_shapes(const Element &element, uint64_t row) const;
    void gather(std::size_t component, char *to) const;
    void clear();

    std::vector<Run> runs_; // the first used_ hold what was accepted
    std::size_t used_ = 0;
    uint64_t count_ = 0;
};

/// The failure of a batch whose element `row` has a component of another shape than element 0.
Failure different_shapes(std::size_t component, uint64_t row, const Shape &shape, const Shape &first);

} // namespace mdist
