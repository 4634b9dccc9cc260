// SPDX-License-Identifier: Apache-2.0
// SmallAllReduce: all-reduces small data along the canonical tree, by joining blocks of workers (join_plan.h).
//
// Whoever speaks for a block of workers has the partials of all of it. It gives them to a worker that speaks for
// another block, and merges the partials it gets from there with its own. The merged partials are nodes of the tree, or
// a few nodes if the number of replicas is not a power of two. So the bits are those of any other layout. After the
// last joining, whoever speaks combines what is left into the result. Mates that do not speak get that.
//
// If blocks join all at once, whoever speaks combines its segment only, and gets the other results from those that
// combine them.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/schedules/join_rounds.h"
#include "comm/schedules/peer_stream.h"
#include "comm/schedules/scratch.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mdist {

class SmallAllReduce final : public JoinRounds {
  public:
    /// `rows` are the rows of one call, one per dtype, made with plan.cut(0).
    SmallAllReduce(Link &link, const OperationHeader &mine, const JoinPlan &plan, const std::vector<ReduceRow> &rows,
                   Scratch &scratch);

  private:
    /// What a segment has of a row.
    struct Stretch {
        const ReduceRow *row;
        Range range;
    };

    std::span<const Stretch> stretches(uint32_t segment) const;
    std::size_t bytes(uint32_t round, uint32_t block, uint32_t segment) const;
    std::size_t bytes(uint32_t round, uint32_t block) const;
    std::size_t incoming_bytes(uint32_t round, uint32_t index) const;
    std::size_t result_bytes(uint32_t segment) const;
    std::size_t result_bytes() const;
    /// Whether others get results from this worker, or it gets some.
    bool moves_results() const { return rounds() > plan().joins(); }
    void cut_into_segments();
    void lay_out(Scratch &scratch);
    void write_partials();
    Message message(uint32_t round, uint32_t index) const override;
    char *room(uint32_t round, uint32_t index, uint64_t come) override;
    void join(uint32_t round) override;
    void merge(uint32_t round);
    void combine(uint32_t round);
    void take_results();
    void point_to_partials(uint32_t round, const Stretch &stretch);
    void point_to_block(const reduce::Cut &cut, uint32_t block, const Stretch &stretch, const char *&from);

    const std::vector<ReduceRow> &rows_;
    std::vector<Stretch> stretches_; // row after row of segment after segment
    const uint32_t segment_;         // the own one
    // Partials lie stretch after stretch, partial after partial; results, stretch after stretch.
    std::vector<char *> own_;               // by round: the own block's partials
    std::vector<char *> last_;              // by segment: those of the last joining round
    std::vector<char *> others_;            // by number: those that come
    std::vector<char *> results_;           // by segment; if they are not moved, room to make them in
    const char *own_next_ = nullptr;        // what point_to_partials() points at next
    std::vector<const char *> others_next_; // by index of a round
    std::vector<const void *> partials_;    // by subtree of a round's cut
};

} // namespace mdist
