// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic outside the hot paths, as plain loops. Results are as in reduce(): 16-bit types compute in
// float32 and round once, integers wrap around, NaNs are canonical. Callers must hold a FloatEnvironment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mdist::reduce {

/// to[i] = to[i] op from[i], for any mdist_assign_t except SET; for bool only MIN and MAX. The arrays must not overlap,
/// or must be the same.
void write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements);
/// to[i] -= from[i]
void subtract(int32_t dtype, void *to, const void *from, std::size_t elements);
/// to[i] /= divisor; integers are truncated towards zero.
void divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements);
/// to[i] /= from[i]; integers are truncated towards zero, and no integer in `from` may be 0.
void divide_each(int32_t dtype, void *to, const void *from, std::size_t elements);
/// Sums floating-point elements in order, in double. If `weights` is not NULL, each element is multiplied by a weight;
/// there is one weight for every `share` elements.
double weighted_sum(int32_t dtype, const void *data, const void *weights, std::size_t share, std::size_t elements);
/// Whether some element is 0; -0 counts as 0.
bool any_zero(int32_t dtype, const void *data, std::size_t elements);

} // namespace mdist::reduce
