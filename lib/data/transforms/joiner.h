// SPDX-License-Identifier: Apache-2.0
// Joiner: consecutive elements become one, along a new first dimension. Used again for the next; by one thread at a
// time.
#pragma once

#include "data/element.h"

#include <cstdint>
#include <vector>

namespace mdist {

class Joiner {
  public:
    /// Where the next element is to be written; accept() when it is there.
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
        alike_ &= run.first.same_rows(runs_[0].first);
        ++used_;
    }
    uint64_t count() const { return count_; }

    /// All that were accepted, which are at least one. Throws MISMATCH where shapes differ.
    Element join();

  private:
    // Elements that lie one after the other in memory: copied in one go.
    struct Run {
        Element first;
        uint64_t count = 0;
    };

    void check_shapes() const;
    void check_shapes(const Element &element, uint64_t row) const;
    void gather(std::size_t component, char *to) const;
    template <std::size_t kBytes>
    void gather_rows(const char *rows, char *to) const;
    void clear();

    std::vector<Run> runs_; // the first used_ are what was accepted
    std::size_t used_ = 0;
    uint64_t count_ = 0;
    bool alike_ = true; // all are rows of one block
};

/// The same of rows of one block, whose numbers these are: at least one.
Element joined_rows(const Block &block, const std::vector<uint64_t> &rows);

} // namespace mdist
