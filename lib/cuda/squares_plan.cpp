// SPDX-License-Identifier: Apache-2.0
#include "cuda/squares_plan.h"

#include "cuda/reduce_plan.h"

namespace mdist::cuda {

static_assert(kSquareItems * kSquareBlocks * sizeof(double) <= MDIST_GPU_SQUARES_ROOM);

size_t gather(const mdist_gpu_squares *items, size_t from, size_t count, SquaresBatch &batch) {
    const int32_t dtype = from < count ? items[from].dtype : 0;
    for (; from < count && batch.count < kSquareItems && items[from].dtype == dtype; ++from) {
        const mdist_gpu_squares &each = items[from];
        const unsigned blocks =
            with_float_format(dtype, [&](auto format) { return square_blocks<decltype(format)>(each.elements); });
        batch.items[batch.count++] = {static_cast<const char *>(each.from),
                                      each.elements,
                                      each.sum,
                                      batch.blocks,
                                      static_cast<uint16_t>(blocks),
                                      rows_access(each.from, element_size(dtype), kPacketBytes)};
        batch.blocks += blocks;
    }
    return from;
}

} // namespace mdist::cuda
