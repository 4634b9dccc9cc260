// SPDX-License-Identifier: Apache-2.0
// Sizes, names and checks of element types. Types are numbered as in the public header.
#pragma once

#include <mdist/tensor.h>

#include <cstddef>
#include <cstdint>

namespace mdist {

inline constexpr int32_t kLastDtype = MDIST_BOOL;

/// A type of the library's own, for elements of an operator: `bytes` bytes, 1 to MDIST_OPERATOR_MAX_BYTES. No program
/// can pass it: check_dtype() refuses it.
constexpr int32_t operator_dtype(std::size_t bytes) {
    return 0x40000000 | static_cast<int32_t>(bytes);
}
constexpr bool is_operator_dtype(int32_t dtype) {
    return dtype >= 0x40000000;
}

/// Returns "?" for a number that is no type.
const char *dtype_name(int32_t dtype);
/// Whether it is no floating-point type. bool counts as an integer of one byte.
bool dtype_is_integer(int32_t dtype);
/// Whether it is one of mdist_dtype_t.
constexpr bool is_dtype(int32_t dtype) {
    return dtype >= MDIST_FLOAT32 && dtype <= kLastDtype;
}
/// Returns 0 for a number that is no type. Every call of a collective asks some ten times.
constexpr std::size_t dtype_size(int32_t dtype) {
    constexpr uint8_t kSizes[kLastDtype + 1] = {0, 4, 8, 2, 2, 1, 1, 4, 4, 8, 8, 2, 2, 1};
    if (is_operator_dtype(dtype)) return static_cast<std::size_t>(dtype & 0x3fffffff);
    return kSizes[is_dtype(dtype) ? dtype : 0];
}
/// Throws INVALID_ARGUMENT naming the number and `what` ("buffer 3", "tensor").
void check_dtype(int32_t dtype, const char *what);

} // namespace mdist
