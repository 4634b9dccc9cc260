// SPDX-License-Identifier: Apache-2.0
// Putting reductions into launches: those in a row that are alike share one as far as its parameters reach.
#pragma once

#include "cuda/reduce_chunk.h"
#include "device/gpu/module.h"

namespace mdist::cuda {

/// What the reductions of a launch have in common, and so which kernel it is for.
struct ReduceWay {
    int32_t dtype;
    unsigned sources; // unrolled sums of so many; 0: the way that takes everything
    Combine how;
    Factor factor;
    uint64_t bias;
};

bool is_dtype(int32_t dtype);
bool is_float(int32_t dtype);
bool is_signed(int32_t dtype); // integers
unsigned element_size(int32_t dtype);
bool alike(const ReduceWay &a, const ReduceWay &b);
/// Whether the table's function takes it.
bool is_valid(const mdist_gpu_reduction &reduction);
ReduceWay way_of(const mdist_gpu_reduction &reduction);
/// The number in mdist_gpu_reduction::op of the difference of two, which is none of the public operations.
constexpr int32_t kDifferenceOp = static_cast<int32_t>(Combine::kDifference);

/// How an array is reached whose rows are of so many bytes, from its beginning on.
Access rows_access(const void *array, unsigned element, unsigned row);
/// How addresses that are worked on together are reached, `unit` bytes at once if they all lie alike; and how many
/// elements come before the first multiple of it.
Access access_of(const void *const *addresses, unsigned count, unsigned element, unsigned unit, unsigned &head);

/// Adds reductions from number `from` on as far as they are alike and there is room. Returns the number of the first
/// one that is left.
template <typename Batch>
size_t gather(const mdist_gpu_reduction *reductions, size_t from, size_t count, const ReduceWay &way, Batch &batch);

extern template size_t gather(const mdist_gpu_reduction *, size_t, size_t, const ReduceWay &, SumBatch &);
extern template size_t gather(const mdist_gpu_reduction *, size_t, size_t, const ReduceWay &, AnyBatch &);

/// Calls launch(way, batch) for all of them: with a SumBatch for unrolled sums, else an AnyBatch. Returns the first
/// error; `invalid`, and nothing is launched, where one of them is no reduction that there is.
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
