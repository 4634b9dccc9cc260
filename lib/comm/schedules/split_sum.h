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
//   Memory: scratch for a window of slices. Results go to the outputs at once, and are passed on from there.
//
//   No two workers can wait for each other: nothing about partials waits for results, and whatever is done with the
//   partials of a slice at a level waits only for smaller pairs of slice and level. (A merge waits for earlier levels
//   of its slice, and for room, which the slice a window before has left.) Taking results waits for nobody's sends.
//
//   In place: the results of a range arrive only after everything that was made from its inputs on this worker has been
//   used up.
#pragma once

#include "comm/call/reduce_row.h"
#include "comm/links/link.h"
#include "comm/schedules/schedule.h"
#include "comm/schedules/scratch.h"
#include "comm/schedules/split_slices.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

/// The messages in one direction between this worker and a peer: first partials, then results. A window of them is
/// under way at a time.
struct PeerStream {
    static constexpr uint32_t kWindow = 4;

    uint64_t partials = 0; // messages [0, partials) are partials
    uint64_t results = 0;  // the messages after those
    uint64_t posted = 0;
    uint64_t taken = 0; // receives only: messages used up
    Pending pending[kWindow];
    char *scratch = nullptr; // kWindow slots
    std::size_t slot_bytes = 0;

    char *slot(uint64_t message) const { return scratch + message % kWindow * slot_bytes; }
    uint64_t total() const { return partials + results; }
    /// Whether the next message to take has arrived.
    bool arrived() const { return taken < posted && pending[taken % kWindow].done(); }
    bool all_taken() const { return taken == total(); }
    bool all_sent() const {
        return posted == total() &&
               std::all_of(pending, pending + kWindow, [](const Pending &slot) { return slot.done(); });
    }
    /// Whether a message was sent, and its memory is free. Nothing a window later may have been posted.
    bool sent(uint64_t message) const { return posted > message && pending[message % kWindow].done(); }
};

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
