// SPDX-License-Identifier: Apache-2.0
// Elements of all dtypes as numbers, for inputs made and results checked without the library's help. Any thread.
#pragma once

#include <mdist/mdist.h>

#include <cstdint>

namespace mdist {

/// A number up to 1024, which all dtypes but the 8 bits wide ones hold; those up to 127.
void store_element(mdist_dtype_t dtype, void *array, uint64_t index, uint64_t number);
double load_element(mdist_dtype_t dtype, const void *array, uint64_t index);
/// A whole number as it comes out of integers that wrap around.
double wrapped(mdist_dtype_t dtype, double number);
/// The largest relative error of a rounding to it, also after one to a wider type.
double half_digit(mdist_dtype_t dtype);

} // namespace mdist
