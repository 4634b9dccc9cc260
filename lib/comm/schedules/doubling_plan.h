// SPDX-License-Identifier: Apache-2.0
// DoublingPlan: which worker gives what to which in each round of a doubling all-reduce (doubling.h). It depends only
// on the layout of the job, so all workers have the same plan, whatever operation they are in. Immutable; any thread.
//
// Block j of round k is the workers [j * 2^k, (j + 1) * 2^k); the last block may be shorter. Blocks 2j and 2j + 1 join,
// so the blocks of a round are the nodes of one height in the tree over the workers. If the upper block of a pair is
// shorter, its workers take turns in giving to the workers of the lower block. The first workers of the lower block
// give to them.
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
        uint32_t from = kNobody; // gives this worker the other block's partials
        uint32_t to_begin = 0;   // gets its own block's partials: every to_step-th worker of [to_begin, to_end)
        uint32_t to_end = 0;
        uint32_t to_step = 1;
    };

    /// Each host has `per_host` workers, with consecutive ranks.
    DoublingPlan(const Spans &spans, uint32_t per_host);

    uint32_t rounds() const { return static_cast<uint32_t>(cuts_.size()); }
    /// The tree, cut into the subtrees that the blocks of a round hold completely: cut().first(block) and so on.
    const reduce::Cut &cut(uint32_t round) const { return cuts_[round]; }
    static uint32_t block(uint32_t round, uint32_t worker) { return worker >> round; }
    /// The workers of a block.
    uint32_t begin(uint32_t round, uint32_t block) const { return block << round; }
    uint32_t end(uint32_t round, uint32_t block) const;
    Part part(uint32_t round, uint32_t worker) const;

    /// The largest number of partials in a message.
    uint32_t most_partials() const { return most_partials_; }
    /// The largest number of partials that the workers of one host give to other hosts.
    uint32_t most_crossing() const { return most_crossing_; }

  private:
    uint32_t crossing(uint32_t worker, uint32_t per_host) const;

    uint32_t workers_;
    std::vector<reduce::Cut> cuts_; // by round, at least one
    uint32_t most_partials_ = 0;
    uint32_t most_crossing_ = 0;
};

} // namespace mdist
