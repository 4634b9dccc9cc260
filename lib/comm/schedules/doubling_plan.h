// SPDX-License-Identifier: Apache-2.0
// DoublingPlan: who gives whom what in which round of a doubling all-reduce (doubling.h). Follows from the layout of
// the job alone, so that all workers have the same one, whatever operation they are in. Immutable; any thread.
//
// Blocks of round k are the workers [j * 2^k, (j + 1) * 2^k), the last one perhaps cut off. Block 2j and block 2j + 1
// join, so the blocks of a round are the nodes of the tree over the workers at one height. Where the upper of two is
// shorter its workers take turns in giving to the others, and the first of the lower give to them.
#pragma once

#include "reduce/partials.h"

#include <cstdint>
#include <vector>

namespace mdist {

class DoublingPlan {
  public:
    static constexpr uint32_t kNobody = UINT32_MAX;

    /// What a worker does in a round.
    struct Part {
        uint32_t from = kNobody; // gets the other block's partials from
        uint32_t to_begin = 0;   // gives those of its own block to these, every to_step-th of [to_begin, to_end)
        uint32_t to_end = 0;
        uint32_t to_step = 1;
    };

    /// `per_host` workers, with ranks in a row, on each host.
    DoublingPlan(uint32_t workers, uint32_t replicas_per_worker, uint32_t per_host);

    uint32_t rounds() const { return static_cast<uint32_t>(cuts_.size()); }
    /// The tree cut into the subtrees that the blocks of a round have whole: cut().first(block) and so on.
    const reduce::Cut &cut(uint32_t round) const { return cuts_[round]; }
    static uint32_t block(uint32_t round, uint32_t worker) { return worker >> round; }
    /// The workers of a block.
    uint32_t begin(uint32_t round, uint32_t block) const { return block << round; }
    uint32_t end(uint32_t round, uint32_t block) const;
    Part part(uint32_t round, uint32_t worker) const;

    /// The most partials that a message has.
    uint32_t most_partials() const { return most_partials_; }
    /// The most partials that workers of one host give to others.
    uint32_t most_crossing() const { return most_crossing_; }

  private:
    uint32_t crossing(uint32_t worker, uint32_t per_host) const;

    uint32_t workers_;
    std::vector<reduce::Cut> cuts_; // by round, at least one
    uint32_t most_partials_ = 0;
    uint32_t most_crossing_ = 0;
};

} // namespace mdist
