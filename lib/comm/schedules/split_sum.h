// SPDX-License-Identifier: Apache-2.0
// SplitSum: sums large data by splitting it among workers, level by level (split_plan.h), slice by slice
// (split_slices.h).
//
//   Down: at each level a worker gives each member of its group its partials of what that one keeps, and merges what it
//         gets with its own. At the last level this makes results.
//   Up:   then the levels in reverse. At each, a worker gives the members all results that it has, and gets theirs.
//
// With one level this is a direct exchange. With groups of two it is halving, then doubling. A row that scatters
// (ReduceRow::scatters) only goes down, and a worker that rests gets its part from its neighbour.
//
// A peer is in one group only. It gets first the partials of all slices, then the results of all slices. The network is
// busy all the time: the first results are there by the time that the last partials have gone.
//
//   Memory: scratch for a window of slices. Results go to the outputs at once, and are passed on from there, so no
//   receive of results depends on a send. Merging a slice waits only for earlier levels of it, and for earlier slices.
//   So no two workers can wait for each other.
//
//   In place: the results of a range arrive only after everything that was made from its inputs on this worker has been
//   used up.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/links/link.h"
#include "comm/schedules/peer_stream.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/scratch.h"
#include "comm/schedules/split_slices.h"

#include <cstdint>
#include <vector>

namespace mdist {

class SplitSum final : public Schedule {
  public:
    /// The link's parties are the workers of row.cut() and of the plan. The schedule uses the low 32 bits of `tag`.
    /// `slice` is the number of elements of a slice; 0 chooses the best for this size. All workers must pass the same.
    /// With kBehindHeaders, it only sends until begin().
    SplitSum(Link &link, uint64_t tag, const ReduceRow &row, const SplitPlan &plan, Scratch &scratch,
             Start start = Start::kNow, uint64_t slice = 0);

    /// All peers have told that they are in the same operation: now what they send may be received.
    void begin();
    bool advance() override;

  private:
    static constexpr uint32_t kWindow = PeerStream::kWindow;
    using Pieces = SplitPlan::Pieces;

    struct Peer {
        SplitPlan::Member member;
        PeerStream out = {};
        PeerStream in = {};
    };
    struct Level {
        SplitPlan::Member self;
        std::vector<Peer> peers;  // beginning with the next one, so that not all send to the same
        std::size_t partial_size; // of what its members give each other
        PeerStream own = {};      // only its slots: partials that this worker gives itself
        uint64_t merged = 0;      // slices
        uint64_t ready = 0;       // slices whose results, of what this worker keeps here, are there
    };

    void make_level(uint32_t index);
    void lay_out(Scratch &scratch);
    std::size_t partial_bytes(uint32_t level, uint64_t elements, uint32_t block) const;
    uint64_t most_results(const Level &level, const Peer &peer, bool given) const;

    bool step();
    bool merge_next(uint32_t level);
    bool has_room(uint32_t level, uint64_t slice) const;
    const void *own_partials(const Pieces &pieces, uint64_t slice, char *scratch) const;
    void point(uint32_t level, uint64_t slice, const void *own, uint64_t skip);
    void merge(uint32_t level, uint64_t slice, const void *own);
    void combine(uint64_t slice, const void *own);
    void count_ready();
    Range results(const Level &level, const Peer &peer, bool given, uint64_t slice) const;
    bool take_results(const Level &level, Peer &peer);
    bool post_receive(uint32_t level, Peer &peer);
    bool post_send(uint32_t level, Peer &peer);

    Link &link_;
    const uint64_t tag_;
    const ReduceRow &row_;
    const SplitPlan &plan_;
    const std::size_t element_size_;
    const SplitSlices slices_;
    std::vector<Level> levels_;
    Peer *resting_ = nullptr;            // waits for its part of a row that scatters
    char *result_ = nullptr;             // results of a piece
    std::vector<const void *> partials_; // by subtree of a level's cut
    bool begun_ = false;
};

} // namespace mdist
