// SPDX-License-Identifier: Apache-2.0
// Flat: the local replicas' buffers of one dtype in a reduction, end to end, as other workers see them: one row of
// partials going out (for each of this worker's subtrees), one row of results coming in.
//
// So that what moves bytes between workers need not know how many buffers a fused call has, nor how many replicas.
// Borrows the calls. Any thread, as long as ranges that are written do not meet.
#pragma once

#include "comm/call.h"
#include "reduce/partials.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

class Flat {
  public:
    /// calls[0..replicas): one per local replica, alike and checked; buffers of other dtypes are passed over. `worker`
    /// is one of those of `cut`.
    Flat(const Call *const *calls, uint32_t replicas, int32_t dtype, const reduce::Cut &cut, uint32_t worker);

    /// The row of a reduce_scatter, which is one buffer of the inputs: replica r's output takes elements parts[r] to
    /// parts[r + 1] - 1 of the results. `parts` has one number more than there are replicas in the job.
    Flat(const Call *const *calls, uint32_t replicas, std::size_t buffer, const std::vector<uint64_t> &parts,
         const reduce::Cut &cut, uint32_t worker);

    uint64_t elements() const { return elements_; }
    /// Whether results are for those alone whose parts they are; then a worker's begin here, else segments may be any.
    bool scatters() const { return !parts_.empty(); }
    uint64_t part_begin(uint32_t worker) const { return parts_[worker * replicas_]; }
    int32_t dtype() const { return operation_.dtype; }
    const reduce::Operation &operation() const { return operation_; }
    const reduce::Cut &cut() const { return cut_; }
    uint32_t worker() const { return worker_; }
    /// Partials that this worker gives.
    uint32_t partial_count() const { return cut_.count(worker_); }
    std::size_t partial_size() const { return partial_size_; }

    /// Partial `index` (0 to partial_count() - 1) of elements begin to begin + count - 1, written to `to`. Computes:
    /// put a FloatEnvironment around it.
    void partial(uint32_t index, uint64_t begin, uint64_t count, void *to) const;
    /// Where that stands in memory as it is: one replica per worker, and all in one buffer; else nullptr.
    const void *partial_in_place(uint64_t begin, uint64_t count) const;

    /// Writes results to every local replica's outputs, as far as they are for it.
    void store(uint64_t begin, uint64_t count, const void *results) const;
    /// Results from replica 0's outputs, where they are, in a row.
    void load(uint64_t begin, uint64_t count, void *to) const;
    /// Replica 0's output, where the range lies in one buffer, to be written directly and then given to the others by
    /// spread(); else nullptr.
    void *output_in_place(uint64_t begin, uint64_t count) const;
    void spread(uint64_t begin, uint64_t count) const;

    // The four above by whichever way there is, with `scratch` as long as what is asked for:

    /// All of this worker's partials of a range, one after another.
    const void *partials(uint64_t begin, uint64_t count, void *scratch) const;
    /// Where to put results that take() then gives to the outputs.
    void *room(uint64_t begin, uint64_t count, void *scratch) const;
    void take(uint64_t begin, uint64_t count, const void *room) const;
    /// Results that the outputs have.
    const void *results(uint64_t begin, uint64_t count, void *scratch) const;

  private:
    struct Piece {
        std::size_t buffer; // of every call
        uint64_t begin;     // first element in the row
        uint64_t elements;
    };

    std::size_t piece_at(uint64_t element) const;
    /// The piece that holds all of a range, or nullptr.
    const Piece *piece_of(uint64_t begin, uint64_t count) const;
    /// Where a local replica's output takes the element that its part has; the replica must have it.
    void *part_at(uint32_t replica, uint64_t element) const;
    template <typename Use>
    void for_stretches(uint64_t begin, uint64_t count, Use use) const;

    const Call *const *calls_;
    uint32_t replicas_;
    const reduce::Cut &cut_;
    uint32_t worker_;
    reduce::Operation operation_;
    std::size_t element_size_;
    std::size_t partial_size_;
    std::vector<Piece> pieces_;
    std::vector<uint64_t> parts_; // of the outputs, by replica id; none where every output takes the row
    uint64_t elements_ = 0;
};

/// The dtypes of a call's buffers, each once, in the order they come.
std::vector<int32_t> dtypes_of(const Call &call);

} // namespace mdist
