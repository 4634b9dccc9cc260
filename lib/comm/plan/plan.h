// SPDX-License-Identifier: Apache-2.0
// Plan: what a collective does, as a list of moves between replica ids. A move takes a range of one replica's input, or
// the sum of that range over all inputs along the canonical tree. It puts it into a range of one replica's output, or
// of every replica's.
//
// Every executor carries out the same plan with its own means: threads of one process (local/), messages between
// workers (workers/), copies and kernels of GPUs (device/). An executor may do some calls in a quicker way; the plan is
// the plain way to get the same result.
//
//   all-reduce          sum -> all                     all-gather     i -> all, one behind another
//   reduce to root      sum -> root                    gather         i -> root, one behind another
//   reduce-scatter      piece i of the sum -> i        scatter        piece i of the root's -> i
//   broadcast           root -> all                    all-to-all     piece j of i's -> piece i of j's, of any lengths
//
// Borrows the lengths. Immutable; any thread may use it.
#pragma once

#include "comm/plan/lengths.h"
#include "util/function_ref.h"

#include <cstdint>

namespace mdist {

struct Move {
    static constexpr uint32_t kAll = UINT32_MAX;

    uint32_t from; // replica; kAll: the sum over all
    uint32_t to;   // replica; kAll: everybody
    std::size_t buffer;
    uint64_t input_begin; // elements
    uint64_t output_begin;
    uint64_t elements;

    bool sums() const { return from == kAll; }
};

class Plan {
  public:
    using Visit = FunctionRef<void(const Move &)>;

    Plan(const Call &call, const Lengths &lengths)
        : pattern_(call.kind->pattern()), root_(call.root), buffers_(call.buffer_count), lengths_(lengths) {}

    const Lengths &lengths() const { return lengths_; }

    // The order is the same for every caller: by buffer, then by giver, then by taker.

    void each_move(Visit visit) const { visit_moves(all(), true, visit); }
    /// Moves that one of these replicas takes.
    void each_move_to(const Span &takers, Visit visit) const { visit_moves(takers, false, visit); }
    /// Moves that one of these replicas gives or takes. Every replica gives to a sum.
    void each_move_of(const Span &replicas, Visit visit) const { visit_moves(replicas, true, visit); }

  private:
    Span all() const { return {0, lengths_.replicas()}; }
    void visit_moves(const Span &replicas, bool givers, Visit visit) const;
    void visit_parts_of(std::size_t buffer, const Span &replicas, bool givers, Visit visit) const;
    void visit_moves_of(std::size_t buffer, const Span &replicas, bool givers, Visit visit) const;

    const Pattern pattern_;
    const uint32_t root_;
    const std::size_t buffers_;
    const Lengths &lengths_;
};

} // namespace mdist
