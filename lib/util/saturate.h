// SPDX-License-Identifier: Apache-2.0
// Sums and products of counts that may be of anything: the largest number stands for all that is too large to count.
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
