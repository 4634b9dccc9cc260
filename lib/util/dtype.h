// SPDX-License-Identifier: Apache-2.0
// Sizes, names and checks of element types. Types are numbered as in the public header.
#pragma once

#include <mdist/tensor.h>

#include <cstddef>

namespace mdist {

/// Returns 0 for a number that is no type.
std::size_t dtype_size(int32_t dtype);
/// Returns "?" for a number that is no type.
const char *dtype_name(int32_t dtype);
bool dtype_is_integer(int32_t dtype);
/// Throws INVALID_ARGUMENT naming the number and `what` ("buffer 3", "tensor").
void check_dtype(int32_t dtype, const char *what);

} // namespace mdist
