// SPDX-License-Identifier: Apache-2.0
// Packs copies into launches.
#pragma once

#include "cuda/copy_chunk.h"
#include "device/gpu/module.h"

namespace mdist::cuda {

CopyItem copy_item(const mdist_gpu_stretch &stretch);

/// Adds as many stretches as fit, beginning with number `from`. Returns the number of the first one that is left.
template <typename Batch>
size_t gather(const mdist_gpu_stretch *stretches, size_t from, size_t count, Batch &batch) {
    for (; from < count && batch.count < Batch::kItems; ++from) {
        if (stretches[from].bytes == 0) continue;
        CopyItem item = copy_item(stretches[from]);
        const uint64_t chunks = 1 + (item.bytes - 1) / kCopyChunk;
        if (chunks > UINT32_MAX / 2 - batch.chunks) break;
        item.first_chunk = batch.chunks;
        batch.chunks += static_cast<uint32_t>(chunks);
        batch.items[batch.count++] = item;
    }
    return from;
}

} // namespace mdist::cuda
