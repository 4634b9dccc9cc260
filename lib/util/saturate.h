// SPDX-License-Identifier: Apache-2.0
// Sums and products of counts from untrusted input. A result that is too large becomes the largest number.
#pragma once

#include <cstdint>

namespace mdist {

inline uint64_t saturated_sum(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

inline uint64_t saturated_product(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

} // namespace mdist
