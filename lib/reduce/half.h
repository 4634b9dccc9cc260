// SPDX-License-Identifier: Apache-2.0
// Converts 16-bit floating-point numbers one at a time, for code outside the hot paths. Rounds to nearest, ties to
// even; NaNs are canonical.
#pragma once

#include <cstdint>

namespace mdist::reduce {

double half_to_double(uint16_t half);
double bfloat16_to_double(uint16_t bfloat16);
/// These round once, directly from the double.
uint16_t double_to_half(double value);
uint16_t double_to_bfloat16(double value);

} // namespace mdist::reduce
