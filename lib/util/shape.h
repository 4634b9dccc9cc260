// SPDX-License-Identifier: Apache-2.0
// Shape: up to MDIST_MAX_RANK dimensions, by value. The `checked_*` functions make one from a caller's tensor, or say
// what is wrong with it.
#pragma once

#include <mdist/tensor.h>

#include <cstddef>
#include <string>

namespace mdist {

struct Shape {
    int32_t rank = 0;
    uint64_t dims[MDIST_MAX_RANK] = {};

    /// Product of the dimensions; 1 for a scalar. It does not overflow, since the shape has passed checked_shape.
    uint64_t elements() const;
    /// Product of all dimensions but the first.
    uint64_t row_elements() const;
    Shape without_first() const;
    Shape with_first(uint64_t rows) const;
    bool operator==(const Shape &other) const {
        if (rank != other.rank) return false;
        for (int32_t i = 0; i < rank; ++i)
            if (dims[i] != other.dims[i]) return false;
        return true;
    }
    /// "[128, 784]"
    std::string text() const;
};

/// Checks the type, rank, device and size in bytes of a caller's tensor, and returns its shape. Throws INVALID_ARGUMENT
/// naming `what`. A tensor with elements but without data passes: whether that is right depends on the call.
Shape checked_shape(const mdist_tensor_t &tensor, const char *what);
/// The same, and throws if a tensor with elements has no data.
Shape checked_filled(const mdist_tensor_t &tensor, const char *what);
/// Returns the size in bytes. Throws INVALID_ARGUMENT if it is more than PTRDIFF_MAX.
std::size_t checked_bytes(const Shape &shape, int32_t dtype, const char *what);

} // namespace mdist
