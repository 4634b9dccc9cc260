// SPDX-License-Identifier: Apache-2.0
#include "reduce/partials.h"

#include "reduce/blocks.h"
#include "reduce/operator.h"
#include "reduce/variants.h"
#include "util/dtype.h"

#include <mdist/tensor.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace mdist::reduce {
namespace {

const KernelSet &best_kernels(const Operation &operation) {
    static const KernelTable &table = table_of(best_instruction_set());
    return kernels_of(table, operation);
}

/// Neighbouring subtrees of a cut that together make up one node of the tree.
struct Node {
    const Subtree *first;
    std::size_t count;

    /// How many of them make up the lower half. Not for a node that is itself a subtree of the cut.
    std::size_t lower() const {
        const uint32_t begin = first->begin;
        const uint32_t middle = begin + std::bit_floor(first[count - 1].end - begin - 1);
        std::size_t lower = 1;
        while (first[lower].begin != middle) ++lower;
        return lower;
    }
    /// Whether the tree over the subtrees looks like the tree over as many leaves; then kernels for many sources fit.
    bool as_leaves() const {
        if (count == 1) return true;
        const std::size_t split = lower();
        return split == std::bit_floor(count - 1) && Node{first, split}.as_leaves() &&
               Node{first + split, count - split}.as_leaves();
    }
};

/// The address of a node's value of one block: a partial's own memory, or `out` after computing it there.
struct Sources {
    const void *const *partials;
    std::size_t offset;
    std::size_t elements;
};

const void *block_value(const KernelSet &set, Node node, const Sources &from, void *out) {
    if (node.count == 1) return static_cast<const char *>(from.partials[0]) + from.offset;
    if (node.count <= kFanIn && node.as_leaves()) {
        run(set.merge, {from.partials, node.count, from.offset, &out, 0, 1, from.elements, Scale::kNone, 0, 0});
        return out;
    }
    const std::size_t split = node.lower();
    Block sibling;
    const void *const halves[] = {block_value(set, {node.first, split}, from, out),
                                  block_value(set, {node.first + split, node.count - split},
                                              {from.partials + split, from.offset, from.elements}, sibling.bytes)};
    run(set.merge, {halves, 2, 0, &out, 0, 1, from.elements, Scale::kNone, 0, 0});
    return out;
}

/// Combines block by block: the two halves of the tree, and then their sum.
void combine_blocks(const KernelSet &set, Node root, const Span &whole) {
    const std::size_t split = root.lower();
    const std::size_t size = set.finish.source_size;
    Block lower;
    Block upper;
    for (std::size_t at = 0; at < whole.elements; at += kBlockBytes / size) {
        Span span = whole;
        span.elements = std::min(kBlockBytes / size, whole.elements - at);
        const void *const halves[] = {
            block_value(set, {root.first, split}, {whole.sources, at * size, span.elements}, lower.bytes),
            block_value(set, {root.first + split, root.count - split},
                        {whole.sources + split, at * size, span.elements}, upper.bytes)};
        span.sources = halves;
        span.source_count = 2;
        span.destination_offset = at * set.finish.destination_size;
        run(set.finish, span);
    }
}

} // namespace

Cut::Cut(const Spans &spans) : spans_(spans), first_(spans.workers() + 1) {
    collect(0, replicas());
    for (const Subtree &subtree : subtrees_) ++first_[spans_.worker_of(subtree.begin) + 1];
    most_ = *std::max_element(first_.begin(), first_.end());
    for (std::size_t worker = 1; worker < first_.size(); ++worker) first_[worker] += first_[worker - 1];
}

void Cut::collect(uint32_t begin, uint32_t end) {
    if (spans_.worker_of(begin) == spans_.worker_of(end - 1)) {
        subtrees_.push_back({begin, end});
        return;
    }
    const uint32_t middle = begin + std::bit_floor(end - begin - 1);
    collect(begin, middle);
    collect(middle, end);
}

std::size_t partial_size(int32_t dtype, const Cut &cut) {
    const bool half = dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16;
    return half && !cut.leaves() ? sizeof(float) : dtype_size(dtype);
}

void reduce_partial(const Operation &operation, const Cut &cut, uint32_t index, const void *const *sources,
                    void *partial, std::size_t elements) {
    if (elements == 0) return;
    if (cut.leaves()) {
        std::memcpy(partial, sources[0], elements * dtype_size(operation.dtype));
        return;
    }
    const std::size_t count = cut.subtrees()[index].count();
    if (operation.by != nullptr) return reduce_by(*operation.by, nullptr, sources, count, &partial, 1, elements);
    const KernelSet &set = best_kernels(operation);
    const Kernel &kernel = set.partial;
    const std::size_t block = count <= kFanIn ? elements : kBlockBytes / kernel.destination_size;
    for (std::size_t at = 0; at < elements; at += block)
        block_partial(set, sources, at * kernel.source_size, count, std::min(block, elements - at),
                      static_cast<char *>(partial) + at * kernel.destination_size);
}

void merge_partials(const Operation &operation, const Cut &fine, const Cut &coarse, uint32_t index,
                    const void *const *partials, void *partial, std::size_t elements) {
    if (elements == 0) return;
    const Subtree &whole = coarse.subtrees()[index];
    const auto *const first =
        std::lower_bound(fine.subtrees().data(), fine.subtrees().data() + fine.subtrees().size(), whole.begin,
                         [](const Subtree &part, uint32_t begin) { return part.begin < begin; });
    const auto begin = static_cast<std::size_t>(first - fine.subtrees().data());
    if (fine.leaves()) {
        // The partials are the values themselves, which may be shorter than partials.
        reduce_partial(operation, coarse, index, partials + begin, partial, elements);
        return;
    }
    std::size_t count = 1;
    while (first[count - 1].end != whole.end) ++count;
    const std::size_t size = partial_size(operation.dtype, fine);
    if (count == 1) {
        std::memcpy(partial, partials[begin], elements * size);
        return;
    }
    if (operation.by != nullptr)
        return reduce_by(*operation.by, first, partials + begin, count, &partial, 1, elements);
    const KernelSet &set = best_kernels(operation);
    for (std::size_t at = 0; at < elements; at += kBlockBytes / size)
        block_value(set, {first, count}, {partials + begin, at * size, std::min(kBlockBytes / size, elements - at)},
                    static_cast<char *>(partial) + at * size);
}

void combine_partials(const Operation &operation, const Cut &cut, const void *const *partials,
                      void *const *destinations, std::size_t destination_count, std::size_t elements) {
    if (elements == 0 || destination_count == 0) return;
    if (operation.by != nullptr)
        return reduce_by(*operation.by, cut.subtrees().data(), partials, cut.subtrees().size(), destinations,
                         destination_count, elements);
    const Node root = {cut.subtrees().data(), cut.subtrees().size()};
    const bool as_leaves = root.as_leaves();
    if (as_leaves && partial_size(operation.dtype, cut) == dtype_size(operation.dtype)) {
        reduce(operation, partials, root.count, destinations, destination_count, elements);
        return;
    }
    const KernelSet &set = best_kernels(operation);
    const Span span = span_of(operation, partials, root.count, destinations, destination_count, elements);
    if (as_leaves && root.count <= kFanIn) {
        run(set.finish, span);
    } else {
        combine_blocks(set, root, span);
    }
}

} // namespace mdist::reduce
