// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mdist::reduce {

/// Replicas begin to end - 1: a node of the canonical tree.
struct Subtree {
    uint32_t begin;
    uint32_t end;
    uint32_t count() const { return end - begin; }
    bool operator==(const Subtree &) const = default;
};

} // namespace mdist::reduce
