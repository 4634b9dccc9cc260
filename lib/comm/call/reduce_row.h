// SPDX-License-Identifier: Apache-2.0
// ReduceRow: how a reduction's buffers of one dtype look to other workers. All local buffers of that dtype stand end to
// end. For each of this worker's subtrees one row of partials goes out; one row of results comes in.
//
// Code that moves bytes between workers therefore need not know how many buffers a fused call has, or how many
// replicas. Borrows the calls. Any thread may use it if no two threads write the same range.
#pragma once

#include "comm/call/call.h"
#include "reduce/partials.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

/// A range of elements in a row.
struct Range {
    uint64_t begin = 0;
    uint64_t count = 0;
};

class ReduceRow {
  public:
    /// `calls` holds one call per replica of `worker`, which is one of the workers of `cut`. The calls are the same and
    /// checked. Buffers of other dtypes are skipped.
    ReduceRow(const Call *const *calls, int32_t dtype, const reduce::Cut &cut, uint32_t worker);

    /// Makes the row of a reduce_scatter, which is one buffer of the inputs. Replica r's output takes elements parts[r]
    /// to parts[r + 1] - 1 of the results. `parts` has one number more than the job has replicas.
    ReduceRow(const Call *const *calls, std::size_t buffer, const std::vector<uint64_t> &parts, const reduce::Cut &cut,
              uint32_t worker);

    uint64_t elements() const { return elements_; }
    /// Whether each result goes only to the replica whose part it is. Otherwise it goes to all.
    bool scatters() const { return !parts_.empty(); }
    /// The parts of a worker's replicas, in a row that scatters.
    Range part(uint32_t worker) const {
        const Span &replicas = cut_.spans()[worker];
        return {parts_[replicas.first], parts_[replicas.last] - parts_[replicas.first]};
    }
    int32_t dtype() const { return operation_.dtype; }
    const reduce::Operation &operation() const { return operation_; }
    const reduce::Cut &cut() const { return cut_; }
    uint32_t worker() const { return worker_; }
    /// Number of partials that this worker contributes.
    uint32_t partial_count() const { return cut_.count(worker_); }
    std::size_t partial_size() const { return partial_size_; }

    /// Computes partial `index` (0 to partial_count() - 1) of elements begin to begin + count - 1, and writes it to
    /// `to`. The caller must hold a FloatEnvironment.
    void partial(uint32_t index, uint64_t begin, uint64_t count, void *to) const;
    /// The address of that partial if it already stands in memory: this worker has one, it is a plain value or was made
    /// before (Call::partials), and all of it is in one buffer. Otherwise nullptr.
    const void *partial_in_place(uint64_t begin, uint64_t count) const;

    /// Writes results to the outputs of all local replicas, to each what is meant for it.
    void store(uint64_t begin, uint64_t count, const void *results) const;
    /// Copies results from replica 0's outputs into one row.
    void load(uint64_t begin, uint64_t count, void *to) const;
    /// Replica 0's output, if the range lies in one buffer; otherwise nullptr. Write results there directly, then call
    /// spread() to copy them to the other replicas.
    void *output_in_place(uint64_t begin, uint64_t count) const;
    void spread(uint64_t begin, uint64_t count) const;

    // These choose the quickest of the functions above. `scratch` must have room for the requested range.

    /// All of this worker's partials of a range, one after another.
    const void *partials(uint64_t begin, uint64_t count, void *scratch) const;
    /// Where to put results before take() hands them to the outputs.
    void *room(uint64_t begin, uint64_t count, void *scratch) const;
    void take(uint64_t begin, uint64_t count, const void *room) const;
    /// The results that the outputs hold.
    const void *results(uint64_t begin, uint64_t count, void *scratch) const;

  private:
    struct Piece {
        std::size_t buffer; // of every call
        uint64_t begin;     // first element in the row
        uint64_t elements;
    };

    /// The partial of a buffer, from an element on, if it was made before; otherwise nullptr.
    const char *made_before(uint32_t index, std::size_t buffer, uint64_t element) const;
    std::size_t piece_at(uint64_t element) const;
    /// The piece that holds the whole range, or nullptr.
    const Piece *piece_of(uint64_t begin, uint64_t count) const;
    /// Where a local replica's output takes the given element of its part. The element must be in that part.
    void *part_at(uint32_t replica, uint64_t element) const;
    template <typename Use>
    void for_stretches(uint64_t begin, uint64_t count, Use use) const;

    /// Points at the begin and the end of a local replica's part.
    const uint64_t *part_of(uint32_t replica) const { return parts_.data() + first_ + replica; }

    const Call *const *calls_;
    const reduce::Cut &cut_;
    uint32_t worker_;
    uint32_t first_;    // replica id
    uint32_t replicas_; // local
    reduce::Operation operation_;
    std::size_t element_size_;
    std::size_t partial_size_;
    std::vector<Piece> pieces_;
    std::vector<uint64_t> parts_; // by replica id; empty if every output takes the whole row
    uint64_t elements_ = 0;
};

/// The dtypes of a call's buffers, each once, in order of first use.
std::vector<int32_t> dtypes_of(const Call &call);

} // namespace mdist
