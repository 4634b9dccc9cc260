// SPDX-License-Identifier: Apache-2.0
// Reduction on the CPU: many arrays of equal length become one, element by element, along the canonical tree.
//
// The tree over replicas lo to hi - 1: a single replica is a leaf; otherwise split at lo + (the largest power of two
// smaller than hi - lo). So three are (0 + 1) + 2, and five are ((0 + 1) + (2 + 3)) + 4. The result depends on the
// values alone. It does not depend on the processor, on where the arrays lie, or on how a caller cuts them.
//
// Any thread may call, on arrays that nobody else writes meanwhile. The thread's rounding mode and flushing of
// denormals apply, so callers must hold a FloatEnvironment.
#pragma once

#include "reduce/operation.h"

#include <cstddef>
#include <cstdint>

namespace mdist::reduce {

// The last argument of each function is the variant of the kernels, which must be available.

/// Reduces sources[0..source_count), at least one, and writes the result to each destination. There may be no
/// destination. Addresses need no alignment. A destination may be one of the sources, but must not overlap one partly.
/// Throws only if the operation has an operator, what operator.h says.
void reduce(const Operation &operation, const void *const *sources, std::size_t source_count, void *const *destinations,
            std::size_t destination_count, std::size_t elements, InstructionSet set = best_instruction_set());

/// Sums the squares of floating-point elements, in double, in an order that depends only on their number. NaN or
/// infinite if one of them is.
double sum_of_squares(int32_t dtype, const void *data, std::size_t elements,
                      InstructionSet set = best_instruction_set()) noexcept;
/// Multiplies floating-point elements by `factor`, 16-bit ones in float32, with one rounding each.
void scale(int32_t dtype, void *data, double factor, std::size_t elements,
           InstructionSet set = best_instruction_set()) noexcept;

} // namespace mdist::reduce
