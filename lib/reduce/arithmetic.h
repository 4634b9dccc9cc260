// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic that is not on any hot path: plain loops. Results as in reduce(): 16-bit types compute in
// float32 and round once, integers wrap around, NaNs are canonical. Callers put a FloatEnvironment around it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist::reduce {

/// to[i] = to[i] op from[i] for a mdist_assign_t other than SET, of two arrays apart, or the same.
void write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements);
/// to[i] -= from[i]
void subtract(int32_t dtype, void *to, const void *from, std::size_t elements);
/// to[i] /= divisor; integers are cut off towards zero.
void divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements);
/// to[i] /= from[i]; integers are cut off towards zero, and none of theirs is 0.
void divide_each(int32_t dtype, void *to, const void *from, std::size_t elements);
/// The sum of floating-point elements in order, in double; each times a weight, if there are weights, one for every
/// `share` elements.
double weighted_sum(int32_t dtype, const void *data, const void *weights, std::size_t share, std::size_t elements);
/// Whether every element is 0 (-0 is).
bool all_zero(int32_t dtype, const void *data, std::size_t elements);
/// Whether some element is.
bool any_zero(int32_t dtype, const void *data, std::size_t elements);

} // namespace mdist::reduce
