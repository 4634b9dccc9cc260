// SPDX-License-Identifier: Apache-2.0
// JoinPlan: which worker gives to which in each round of an agreement in which blocks join (join_rounds.h). It depends
// only on the layout of the job, so all workers have the same plan, whatever operation they are in. Immutable; any
// thread.
//
// In each round blocks of consecutive workers join to larger ones, until one holds all workers. Whoever speaks for a
// block has what its workers have together.
//   One worker on each host   The blocks are workers at first. All workers of a block speak for it.
//   Several on each of        First the workers of a host give to the first one of them, and the blocks are hosts. Only
//   several hosts             first workers speak. In a last round, the first worker of each host gives its mates what
//                             it has. So one message crosses where all workers of a host would send one.
//
// Blocks join two by two. The blocks of a round are the nodes of one height in the tree over the workers (or over the
// hosts); the last one may be shorter. If the upper block of a pair is shorter, its speakers take turns in giving to
// those of the lower block. The first speakers of the lower block give to them.
#pragma once

#include "reduce/partials.h"

#include <cstdint>
#include <vector>

namespace mdist {

class JoinPlan {
  public:
    /// Some workers: `first`, and then each `step` further.
    struct Workers {
        uint32_t first = 0;
        uint32_t count = 0;
        uint32_t step = 1;

        uint32_t operator[](uint32_t index) const { return first + index * step; }
    };

    /// What a worker does in a round.
    struct Part {
        Workers from; // give this worker what their blocks have: other blocks that its own joins, each one once
        Workers to;   // get what its own block has
    };

    /// Each host has `per_host` workers, with consecutive ranks. If not `by_hosts`, all of them speak nevertheless.
    JoinPlan(const Spans &spans, uint32_t per_host, bool by_hosts = true);

    /// Whether one worker of each host speaks for its mates.
    bool by_hosts() const { return per_host_ > 1; }

    /// First the rounds in which blocks join, at least one. Then, if there are mates, that in which they get what has
    /// come.
    uint32_t rounds() const { return joins() + (by_hosts() ? 1 : 0); }
    uint32_t joins() const { return static_cast<uint32_t>(cuts_.size()); }
    /// The tree, cut into the subtrees that the blocks of a joining round hold completely: cut().first(block) and so
    /// on.
    const reduce::Cut &cut(uint32_t round) const { return cuts_[round]; }
    /// The block of a worker before a round. The one before round joins() has all workers.
    uint32_t block(uint32_t round, uint32_t worker) const { return worker / size(round); }
    /// The workers of a block.
    uint32_t begin(uint32_t round, uint32_t block) const { return block * size(round); }
    uint32_t end(uint32_t round, uint32_t block) const;
    /// Whether a worker has what its block has, before a round.
    bool speaks(uint32_t round, uint32_t worker) const { return round == 0 || !by_hosts() || worker % per_host_ == 0; }
    Part part(uint32_t round, uint32_t worker) const;

    /// The largest number of partials in a message.
    uint32_t most_partials() const { return most_partials_; }

  private:
    uint32_t size(uint32_t round) const;
    Part part_of_speaker(uint32_t round, uint32_t worker) const;

    const uint32_t workers_;
    const uint32_t per_host_;       // 1 if all workers speak
    std::vector<reduce::Cut> cuts_; // by joining round
    uint32_t most_partials_ = 0;
};

} // namespace mdist
