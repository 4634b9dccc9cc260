// SPDX-License-Identifier: Apache-2.0
// Packs reductions into launches. Consecutive reductions that are alike share a launch, as far as its parameters have
// room.
#pragma once

#include "cuda/reduce_chunk.h"
#include "device/gpu/module.h"

namespace mdist::cuda {

/// What the reductions of a launch have in common. It selects the kernel.
struct ReduceWay {
    int32_t dtype;
    unsigned sources; // number of sources of an unrolled sum; 0: the way that takes everything
    Combine how;
    Factor factor;
    uint64_t bias;
};

bool is_dtype(int32_t dtype);
bool is_float(int32_t dtype);
bool is_signed(int32_t dtype); // integers
unsigned element_size(int32_t dtype);
bool alike(const ReduceWay &a, const ReduceWay &b);
/// Whether the table's reduce function accepts it.
bool is_valid(const mdist_gpu_reduction &reduction);
ReduceWay way_of(const mdist_gpu_reduction &reduction);
static_assert(static_cast<int32_t>(Combine::kDifference) == MDIST_GPU_DIFFERENCE);

/// How to access an array, from its beginning on, in rows of `row` bytes.
Access rows_access(const void *array, unsigned element, unsigned row);
/// How to access arrays that are worked on together: `unit` bytes at once if all are aligned alike. `head` gets the
/// number of elements before the first multiple of `unit`.
Access access_of(const void *const *addresses, unsigned count, unsigned element, unsigned unit, unsigned &head);

/// Adds reductions, beginning with number `from`, while they are alike and there is room. Returns the number of the
/// first one that is left.
template <typename Batch>
size_t gather(const mdist_gpu_reduction *reductions, size_t from, size_t count, const ReduceWay &way, Batch &batch);

extern template size_t gather(const mdist_gpu_reduction *, size_t, size_t, const ReduceWay &, SumBatch &);
extern template size_t gather(const mdist_gpu_reduction *, size_t, size_t, const ReduceWay &, AnyBatch &);

/// Calls launch(way, batch) for all reductions: with a SumBatch for unrolled sums, otherwise with an AnyBatch. Returns
/// the first error. If some reduction is not valid, returns `invalid` and launches nothing.
template <typename Launch>
int for_each_batch(const mdist_gpu_reduction *reductions, size_t count, int invalid, Launch launch) {
    for (size_t i = 0; i < count; ++i)
        if (!is_valid(reductions[i])) return invalid;
    for (size_t i = 0; i < count;) {
        const ReduceWay way = way_of(reductions[i]);
        const size_t begin = i;
        const auto launch_some = [&](auto batch) {
            i = gather(reductions, i, count, way, batch);
            if (batch.count > 0) return launch(way, batch);
            return i > begin ? 0 : invalid;
        };
        const int error = way.sources > 0 ? launch_some(SumBatch()) : launch_some(AnyBatch());
        if (error != 0) return error;
    }
    return 0;
}

} // namespace mdist::cuda
