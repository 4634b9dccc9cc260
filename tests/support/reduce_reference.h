// SPDX-License-Identifier: Apache-2.0
// The scalar counterpart of the kernels of reduce/. On purpose it shares no code with them.
#pragma once

#include "reduce/operation.h"

#include <cstddef>
#include <cstdint>

namespace mdist::reduce {

/// reduce() without vectors, one element at a time. It is slow, and plain enough to be checked by reading.
void reduce_reference(const Operation &operation, const void *const *sources, std::size_t source_count,
                      void *const *destinations, std::size_t destination_count, std::size_t elements) noexcept;

double sum_of_squares_reference(int32_t dtype, const void *data, std::size_t elements) noexcept;
void scale_reference(int32_t dtype, void *data, double factor, std::size_t elements) noexcept;
/// to[i] += from[i], or -=. Integers wrap around.
void add_reference(int32_t dtype, bool subtracts, void *to, const void *from, std::size_t elements) noexcept;
/// to[i] /= divisor. Integers are truncated towards zero.
void divide_reference(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) noexcept;

} // namespace mdist::reduce
