// SPDX-License-Identifier: Apache-2.0
// Order: in which order a dense tensor's dimensions lie in memory, as a number that fits into a buffer's description.
// 0 is row-major. Dimensions of size 1 do not count. No state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mdist {

struct Shape;

/// The order of a dense tensor with these strides, in elements. Nothing if there are gaps between elements, or some
/// share memory.
std::optional<int32_t> order_of(const Shape &shape, const int64_t *strides);

/// Whether order_of() can have returned it.
bool is_order(int32_t order);

/// "[0, 2, 3, 1]": the dimensions, slowest first, those of size 1 left out.
std::string order_text(int32_t order);

} // namespace mdist
