// SPDX-License-Identifier: Apache-2.0
// Elements of all dtypes as numbers. The bench uses them to make inputs and check results without the library. Any
// thread.
#pragma once

#include <mdist/mdist.h>

#include <cstdint>

namespace mdist {

/// Stores a number up to 1024, which every dtype holds except the 8-bit ones; those hold up to 127.
void store_element(mdist_dtype_t dtype, void *array, uint64_t index, uint64_t number);
double load_element(mdist_dtype_t dtype, const void *array, uint64_t index);
/// The value of a whole number in this dtype, whose integers wrap around.
double wrapped(mdist_dtype_t dtype, double number);
/// The largest relative error of rounding to this dtype, even after rounding to a wider one.
double half_digit(mdist_dtype_t dtype);

} // namespace mdist
