// SPDX-License-Identifier: Apache-2.0
// Partials: the canonical tree evaluated in pieces, by several workers, to the same bits as by one.
//
// A Cut is a row of subtrees of the tree over n replicas, in order, that together hold every replica once. Each worker
// reduces the subtrees that lie whole among its own replicas to partials; whoever has the partials of a whole cut gets
// the result. Partials of 16-bit floats are float32, all others are of the type itself; so is every partial where each
// worker has one replica, as it is that replica's value.
#pragma once

#include "reduce/reduce.h"

#include <cstdint>
#include <vector>

namespace mdist::reduce {

/// Replicas begin to end - 1: a node of the canonical tree.
struct Subtree {
    uint32_t begin;
    uint32_t end;
    uint32_t count() const { return end - begin; }
    bool operator==(const Subtree &) const = default;
};

/// The subtrees of the tree over `replicas` that workers of `per_worker` replicas each reduce by themselves: maximal,
/// in order. Where `replicas` is no multiple of `per_worker` the last one has what is left.
class Cut {
  public:
    Cut(uint32_t replicas, uint32_t per_worker);

    uint32_t replicas() const { return replicas_; }
    const std::vector<Subtree> &subtrees() const { return subtrees_; }
    /// Those of one worker are subtrees()[first(worker)] to subtrees()[first(worker + 1) - 1].
    uint32_t first(uint32_t worker) const { return first_[worker]; }
    uint32_t count(uint32_t worker) const { return first_[worker + 1] - first_[worker]; }
    /// Whether every subtree is one replica.
    bool leaves() const { return subtrees_.size() == replicas_; }

  private:
    void collect(uint32_t begin, uint32_t end, uint32_t per_worker);

    uint32_t replicas_;
    std::vector<Subtree> subtrees_;
    std::vector<uint32_t> first_;
};

/// Bytes of one element of a partial.
std::size_t partial_size(int32_t dtype, const Cut &cut);

/// The partial of cut.subtrees()[index] from its replicas' values, sources[0..count()); it may not overlap them.
void reduce_partial(const Operation &operation, const Cut &cut, uint32_t index, const void *const *sources,
                    void *partial, std::size_t elements) noexcept;

/// Partial `index` of a coarse cut from those of a finer one: partials[i] of fine.subtrees()[i], of which only those are
/// looked at that make it up. Each subtree of `coarse` is made of whole ones of `fine`. It may not overlap them.
void merge_partials(const Operation &operation, const Cut &fine, const Cut &coarse, uint32_t index,
                    const void *const *partials, void *partial, std::size_t elements) noexcept;

/// The result from partials[i] of cut.subtrees()[i], all of them, written to each destination; a destination may be one
/// of the partials where they have the type's own size.
void combine_partials(const Operation &operation, const Cut &cut, const void *const *partials,
                      void *const *destinations, std::size_t destination_count, std::size_t elements) noexcept;

} // namespace mdist::reduce
