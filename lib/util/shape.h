// SPDX-License-Identifier: Apache-2.0
// Shape: up to MDIST_MAX_RANK dimensions, by value. `checked_*` turn what a caller wrote into one, or say what is
// wrong.
#pragma once

#include <mdist/tensor.h>

#include <cstddef>
#include <string>

namespace mdist {

struct Shape {
    int32_t rank = 0;
    uint64_t dims[MDIST_MAX_RANK] = {};

    /// Product of the dimensions; 1 for a scalar. The shape has passed checked_shape, so it does not overflow.
    uint64_t elements() const;
    /// Product of all dimensions but the first.
    uint64_t row_elements() const;
    Shape without_first() const;
    Shape with_first(uint64_t rows) const;
    bool operator==(const Shape &other) const;
    /// "[128, 784]"
    std::string text() const;
};

/// Type, rank, device and size in bytes of a caller's tensor; throws INVALID_ARGUMENT naming `what`. A tensor with
/// elements and without data passes: whether that is right depends on the call.
Shape checked_shape(const mdist_tensor_t &tensor, const char *what);
/// The same, and the memory must be there.
Shape checked_filled(const mdist_tensor_t &tensor, const char *what);
/// Size in bytes; throws INVALID_ARGUMENT where it does not fit (at most PTRDIFF_MAX).
std::size_t checked_bytes(const Shape &shape, int32_t dtype, const char *what);

} // namespace mdist
