// SPDX-License-Identifier: Apache-2.0
// MirroredReduction: reduces many leaves into every local replica's own memory, to mirrored values.
//
// Describing a small leaf takes about as long as reducing it on one core. So if there is much to reduce, the replicas'
// threads begin with the first leaves while the caller still describes the others, and the caller helps at the end.
// The leaves that come before the first large one, or the first that lies on a GPU, are reduced in that way. All others
// are reduced together in finish(). The bits are the same, since each element is reduced along the same tree.
// If the object is destroyed before finish(), the threads stop. Until then it keeps the memory that they write to, even
// if its results were dropped. The caller keeps the leaves.
//
// Invariant: `ready_` grows only when everything that a group of leaves needs has been written. The threads read
// nothing behind it, and only the caller writes there. One thread uses the object, with the turn.
#pragma once

#include "strategy/job/team.h"
#include "strategy/values/cross.h"
#include "strategy/values/results.h"
#include "strategy/values/value_blocks.h"
#include "util/event_count.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace mdist {

class MirroredReduction {
  public:
    MirroredReduction(Job &job, const View &view, const Asker &asker, int32_t op);
    ~MirroredReduction();
    MirroredReduction(const MirroredReduction &) = delete;
    MirroredReduction &operator=(const MirroredReduction &) = delete;

    /// Announces a leaf. Announce all leaves before the first is added. A leaf may be announced before it is checked.
    void expect(const Value &leaf);
    /// Reduces a leaf that was checked and announced. Returns its result, whose elements are there after finish().
    ValuePointer add(const Value &leaf);
    std::size_t added() const { return count_; }
    /// Returns when all results are there. The asker is for other workers, and names all leaves.
    void finish(const Asker &asker);

  private:
    /// What a replica's thread does.
    struct Part {
        MirroredReduction &all;
        void operator()(uint32_t member) const { all.reduce_ready(member); }
    };
    /// What is read of a leaf and where its results go: at memory_of(leaf), the inputs by local replica, and then the
    /// outputs.
    struct Form {
        uint64_t elements;
        int32_t dtype;
    };

    void prepare();
    bool may_overlap() const;
    void start_overlapping();
    void stop_overlapping() noexcept;
    void release_group() noexcept;
    void announce(std::size_t ready) noexcept;
    void reduce_rest(const Asker &asker);
    void reduce_ready(uint32_t member);
    bool await(std::size_t group) const;
    void reduce_leaf(std::size_t leaf) const;
    void fetch_leaf(std::size_t leaf) const;
    void **memory_of(std::size_t leaf) const { return memory_.get() + leaf * 2 * locals_; }

    // What the threads read is not in one line of the cache with what the caller writes for each leaf.
    Job &job_;
    const Asker &asker_;
    const int32_t op_;
    const uint32_t locals_;
    const uint32_t replicas_;             // of the job
    std::size_t expected_ = 0;            // leaves
    std::unique_ptr<Form[]> forms_;       // by leaf
    std::unique_ptr<void *[]> memory_;    // likewise
    std::unique_ptr<std::size_t[]> ends_; // of the groups of leaves that one thread reduces at a time
    const Part part_{*this};
    const Team::Work work_{part_};

    alignas(64) std::vector<Results> results_; // by local replica; keep the memory of small results
    ValueBlocks values_;
    std::size_t bytes_ = 0; // of small leaves that were announced, for each local replica, until they are worth threads
    std::size_t count_ = 0; // leaves added
    bool overlaps_ = false; // whether leaves still go to the threads
    std::size_t groups_ = 0;
    std::size_t group_bytes_ = 0;    // of the leaves that belong to no group yet
    std::size_t overlapped_ = 0;     // leaves in groups
    std::optional<Team::Fork> fork_; // while the threads work

    alignas(64) std::atomic<std::size_t> taken_{0}; // groups
    alignas(64) std::atomic<std::size_t> ready_{0}; // 2 * groups, + 1 if no more will come
    EventCount news_;                               // of ready_
};

} // namespace mdist
