// SPDX-License-Identifier: Apache-2.0
// Reduces one dense array over some of its dimensions into wide accumulators: double for floating-point types, 64-bit
// integers (wrapping) for integers. Accumulators of several arrays can be combined; they are narrowed at the end.
#pragma once

#include "util/shape.h"

#include <cstdint>
#include <vector>

namespace mdist::reduce {

/// One accumulator for each element that remains. The dtype decides which of the two vectors is used.
struct Accumulators {
    bool integer = false;
    std::vector<double> real;
    std::vector<uint64_t> whole; // the bits of an int64_t for signed types
};

/// Accumulators that all hold the neutral element of `op` (an mdist_reduce_op_t; MEAN counts as SUM). For MIN and MAX
/// that is the largest or the least value of the type, or an infinity.
Accumulators neutral(int32_t op, int32_t dtype, uint64_t elements);

/// Folds an array into accumulators. Each element goes to the accumulator at its position without the `reduced`
/// dimensions.
void fold(Accumulators &into, int32_t op, int32_t dtype, const void *data, const Shape &shape,
          const bool (&reduced)[MDIST_MAX_RANK]);

/// Combines two sets of accumulators of the same kind; `from` is the second operand.
void combine(Accumulators &into, int32_t op, int32_t dtype, const Accumulators &from);

/// Writes accumulators as elements of `dtype`, rounding once. Floating-point accumulators are first divided by
/// `divisor`.
void narrow(const Accumulators &from, double divisor, int32_t dtype, void *to);
/// Writes integer accumulators as float64, divided by `divisor`.
void mean_of_integers(const Accumulators &from, double divisor, int32_t dtype, void *to);

} // namespace mdist::reduce
