// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace mdist::reduce {

/// Replicas begin to end - 1: a node of the canonical tree.
struct Subtree {
    uint32_t begin;
    uint32_t end;
    uint32_t count() const { return end - begin; }
    bool operator==(const Subtree &) const = default;
};

/// The subtrees that sources are partials of. nullptr stands for single replicas, from 0 on.
using Leaves = const Subtree *;

/// Neighbouring leaves that together make up one node of the tree.
struct Node {
    Leaves first;
    std::size_t count;

    Node part(std::size_t begin, std::size_t end) const {
        return {first == nullptr ? nullptr : first + begin, end - begin};
    }
    /// How many of them make up the lower half. Not for a node that is itself a leaf.
    std::size_t lower() const {
        if (first == nullptr) return std::bit_floor(count - 1);
        const uint32_t begin = first->begin;
        const uint32_t middle = begin + std::bit_floor(first[count - 1].end - begin - 1);
        std::size_t lower = 1;
        while (first[lower].begin != middle) ++lower;
        return lower;
    }
    /// Whether the tree over them looks like the tree over as many replicas; then kernels for many sources fit.
    bool as_replicas() const {
        if (first == nullptr || count == 1) return true;
        const std::size_t split = lower();
        return split == std::bit_floor(count - 1) && part(0, split).as_replicas() && part(split, count).as_replicas();
    }
};

} // namespace mdist::reduce
