// SPDX-License-Identifier: Apache-2.0
// SplitSlices: cuts a row into slices, and each slice into the pieces of a SplitPlan. A slice goes through all levels
// by itself, so that several can be under way.
//
//   A row that does not scatter   is cut into slices, and each slice evenly into pieces. Neighbouring pieces are one
//                                 range.
//   A row that scatters           is cut into the parts of the workers. Each slice has an equal share of every part: a
//                                 piece is those of its owner's, and of the worker's that rests meanwhile.
//
// Borrows its arguments. Immutable.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/schedules/split_plan.h"

#include <cstdint>

namespace mdist {

class SplitSlices {
  public:
    using Pieces = SplitPlan::Pieces;

    /// So many slices are under way at a time, at most. A slice has about `elements`; 0: as many as are best.
    SplitSlices(const ReduceRow &row, const SplitPlan &plan, uint64_t window, uint64_t elements);

    uint64_t count() const { return count_; }
    /// Elements of some pieces of a slice; and the most of any slice.
    uint64_t elements(const Pieces &pieces, uint64_t slice) const;
    uint64_t most(const Pieces &pieces) const;
    /// The range of some pieces of a slice, in a row that does not scatter.
    Range range(const Pieces &pieces, uint64_t slice) const;
    /// What a slice has of a worker's part, in a row that scatters. Of no elements for SplitPlan::kNobody.
    Range part(uint32_t worker, uint64_t slice) const;

    /// Calls use(range) for all ranges of some pieces of a slice that are not empty, in order.
    template <class Use>
    void each(const Pieces &pieces, uint64_t slice, Use use) const {
        if (!row_.scatters()) {
            if (const Range all = range(pieces, slice); all.count != 0) use(all);
            return;
        }
        for (uint32_t piece = pieces.begin; piece < pieces.end; ++piece)
            for (const uint32_t worker : {plan_.owner(piece), plan_.resting(piece)})
                if (const Range part = this->part(worker, slice); part.count != 0) use(part);
    }

  private:
    const ReduceRow &row_;
    const SplitPlan &plan_;
    const std::size_t element_size_;
    uint64_t elements_; // of a slice, about
    uint64_t count_;
};

} // namespace mdist
