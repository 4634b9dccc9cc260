// SPDX-License-Identifier: Apache-2.0
// Runs kernels on any number of elements and sources. reduce() and the partials share this.
#pragma once

#include "reduce/kernels.h"
#include "reduce/operation.h"
#include "reduce/subtree.h"

#include <cstddef>

namespace mdist::reduce {

/// Size of a partial that waits on the stack for its sibling. There is one for every level of the tree above the
/// kernels, if there are more sources than a kernel takes. Small enough to stay in the first-level cache.
inline constexpr std::size_t kBlockBytes = 2048;

struct alignas(kMaxStep) Block {
    unsigned char bytes[kBlockBytes];
};

const KernelSet &kernels_of(const KernelTable &table, const Operation &operation);
/// A span over all elements, with the division that the operation ends with.
Span span_of(const Operation &operation, const void *const *sources, std::size_t source_count,
             void *const *destinations, std::size_t destination_count, std::size_t elements);
/// Runs the kernel on any number of elements. Elements that do not fill a step go through padded copies.
void run(const Kernel &kernel, const Span &whole);

/// Writes the partial of a node, from the leaves' values.
void write_partial(const KernelSet &set, Node node, const void *const *values, void *partial, std::size_t elements);
/// Writes the result of a whole tree that is no leaf, block by block: its two halves, and then their sum. Reads all
/// sources of a block before it writes a destination, which may be one of them.
void combine_blocks(const KernelSet &set, Node root, const Span &whole);

} // namespace mdist::reduce
