// SPDX-License-Identifier: Apache-2.0
// Reduction of one dense array over some of its dimensions, into wide accumulators: double for floating-point types,
// 64-bit integers (wrapping) for integers. What comes of several arrays is combined and narrowed at the end.
#pragma once

#include "util/shape.h"

#include <cstdint>
#include <vector>

namespace mdist::reduce {

/// One accumulator per element of what remains. Only one of the two is in use, by the dtype.
struct Accumulators {
    bool integer = false;
    std::vector<double> real;
    std::vector<uint64_t> whole; // the bits of an int64_t for signed types
};

/// The neutral element of `op` (an mdist_reduce_op_t; MEAN counts as SUM) everywhere. For MIN and MAX the largest and
/// the least the type has, or infinities.
Accumulators neutral(int32_t op, int32_t dtype, uint64_t elements);

/// Folds an array into accumulators: element e goes to that of its position with the dimensions in `reduced` dropped.
void fold(Accumulators &into, int32_t op, int32_t dtype, const void *data, const Shape &shape,
          const bool (&reduced)[MDIST_MAX_RANK]);

/// Combines two of one kind, `from` second.
void combine(Accumulators &into, int32_t op, int32_t dtype, const Accumulators &from);

/// Writes accumulators as elements of `dtype`, rounding once; floating-point accumulators divided by `divisor` first.
void narrow(const Accumulators &from, double divisor, int32_t dtype, void *to);
/// Integer accumulators as float64, divided by `divisor`.
void mean_of_integers(const Accumulators &from, double divisor, int32_t dtype, void *to);

} // namespace mdist::reduce
