// SPDX-License-Identifier: Apache-2.0
// Running kernels on any number of elements and sources: what reduce() and the partials have in common.
#pragma once

#include "reduce/kernels.h"
#include "reduce/reduce.h"

#include <cstddef>

namespace mdist::reduce {

/// Where there are more sources than a kernel takes, partials of so many bytes each wait on the stack for their
/// sibling, one for every level of the tree above the kernels: small enough to stay in the first cache.
inline constexpr std::size_t kBlockBytes = 2048;

struct alignas(kMaxStep) Block {
    unsigned char bytes[kBlockBytes];
};

const KernelSet &kernels_of(const KernelTable &table, const Operation &operation);
/// All of `elements`, with the division that the operation ends with.
Span span_of(const Operation &operation, const void *const *sources, void *const *destinations,
             std::size_t destination_count, std::size_t elements);
/// Runs the kernel on any number of elements: what is left over at the end takes the way through padded copies.
void run(const Kernel &kernel, std::size_t count, Span span);
/// Writes the partial of `count` values to `out`, for as many elements as fit a block.
void block_partial(const KernelSet &set, const void *const *sources, std::size_t offset, std::size_t count,
                   std::size_t elements, void *out);

} // namespace mdist::reduce
