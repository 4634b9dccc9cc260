// SPDX-License-Identifier: Apache-2.0
// Operator: a reduction by a function of the program, along the canonical tree. Elements are `element_bytes` long, and
// the library does not look into them. Never changes; any thread.
//
// The functions below are the counterparts of those in reduce.h and partials.h, which call them for operations that
// have an operator. They throw what the program's function failed with (CALLBACK), and bad_alloc.
#pragma once

#include "reduce/operation.h"
#include "reduce/subtree.h"

#include <mdist/operator.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mdist::reduce {

struct Operator : std::enable_shared_from_this<Operator> {
    std::string name;
    std::size_t element_bytes = 0;
    mdist_combine_fn combine = nullptr;
    void *user_data = nullptr;
    std::string text; // "16-byte matmul, ", for messages; the size first, as headers cut it off
    uint64_t hash = 0; // of text
};

/// Evaluates the tree over sources[0..count) for `elements` elements, and writes the result to each destination. A
/// destination may be one of the sources, but must not overlap one partly.
void reduce_by(const Operator &op, Leaves leaves, const void *const *sources, std::size_t count,
               void *const *destinations, std::size_t destination_count, std::size_t elements);

} // namespace mdist::reduce
