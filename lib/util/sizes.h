// SPDX-License-Identifier: Apache-2.0
// Sums and products of counts and sizes that come from outside: from the program, a file, or another worker.
#pragma once

#include <cstdint>
#include <optional>

namespace mdist {

/// Nothing if it does not fit.
inline std::optional<uint64_t> fitting_sum(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

inline std::optional<uint64_t> fitting_product(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

/// The largest number if it does not fit.
inline uint64_t saturated_sum(uint64_t a, uint64_t b) {
    return fitting_sum(a, b).value_or(UINT64_MAX);
}

inline uint64_t saturated_product(uint64_t a, uint64_t b) {
    return fitting_product(a, b).value_or(UINT64_MAX);
}

} // namespace mdist
