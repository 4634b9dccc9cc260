// SPDX-License-Identifier: Apache-2.0
// Partials: several workers evaluate pieces of the canonical tree, and get the same bits as one worker would.
//
// A Cut is a list of subtrees of the tree over n replicas, in order. Together they hold every replica once. Each worker
// reduces the subtrees that lie completely among its own replicas; the results are its partials. Whoever has all
// partials of a cut can compute the result. Partials of 16-bit floats are float32; other partials have the type itself.
// If every subtree is one replica, partials always have the type itself, because each is that replica's value.
#pragma once

#include "reduce/reduce.h"
#include "reduce/spans.h"
#include "reduce/subtree.h"

#include <cstdint>
#include <vector>

namespace mdist::reduce {

/// The largest subtrees that workers can reduce alone, in order.
class Cut {
  public:
    explicit Cut(const Spans &spans);

    const Spans &spans() const { return spans_; }
    uint32_t replicas() const { return spans_.replicas(); }
    const std::vector<Subtree> &subtrees() const { return subtrees_; }
    /// The subtrees of one worker are subtrees()[first(worker)] to subtrees()[first(worker + 1) - 1].
    uint32_t first(uint32_t worker) const { return first_[worker]; }
    uint32_t count(uint32_t worker) const { return first_[worker + 1] - first_[worker]; }
    /// The largest number of subtrees of a worker.
    uint32_t most() const { return most_; }
    /// Whether every subtree is one replica.
    bool leaves() const { return subtrees_.size() == replicas(); }

  private:
    void collect(uint32_t begin, uint32_t end);

    Spans spans_;
    std::vector<Subtree> subtrees_;
    std::vector<uint32_t> first_;
    uint32_t most_;
};

// With an operator, the functions below throw what operator.h says.

/// Bytes of one element of a partial.
std::size_t partial_size(int32_t dtype, const Cut &cut);

/// Computes the partial of cut.subtrees()[index] from its replicas' values, sources[0..count()). It may not overlap
/// them.
void reduce_partial(const Operation &operation, const Cut &cut, uint32_t index, const void *const *sources,
                    void *partial, std::size_t elements);

/// Computes partial `index` of the cut `coarse` from partials of the cut `fine`. partials[i] belongs to
/// fine.subtrees()[i]; only those that make up the subtree are read. Each subtree of `coarse` must consist of whole
/// subtrees of `fine`. The partial may not overlap the partials read.
void merge_partials(const Operation &operation, const Cut &fine, const Cut &coarse, uint32_t index,
                    const void *const *partials, void *partial, std::size_t elements);

/// Computes the result from all partials of a cut, and writes it to each destination. partials[i] belongs to
/// cut.subtrees()[i]. A destination may be one of the partials if those have the type's own size.
void combine_partials(const Operation &operation, const Cut &cut, const void *const *partials,
                      void *const *destinations, std::size_t destination_count, std::size_t elements);

} // namespace mdist::reduce
