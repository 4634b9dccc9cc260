// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

namespace mdist {

/// Rounds up to a multiple of `step`. `value` must be at least a step below the largest number.
template <std::unsigned_integral Number>
constexpr Number round_up(Number value, Number step) {
    return (value + step - 1) / step * step;
}

} // namespace mdist
