// SPDX-License-Identifier: Apache-2.0
// Elements that find what is wrong with arithmetic.
#pragma once

#include "random.h"
#include "util/dtype.h"

#include <mdist/collective.h>

#include <cstdint>
#include <cstring>
#include <random>

namespace mdist {

// Bits with which arithmetic goes wrong first: zeros, ends of the ranges, NaNs with payloads (quiet and signalling).
constexpr uint32_t kSpecial32[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
                                   0xff7fffff, 0x7f800000, 0xff800000, 0x7fc12345, 0xffc00001, 0x7f800001, 0x3f800000};
constexpr uint64_t kSpecial64[] = {0,
                                   0x8000000000000000,
                                   1,
                                   0x800fffffffffffff,
                                   0x0010000000000000,
                                   0x7fefffffffffffff,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000012345,
                                   0xfff8000000000001,
                                   0x7ff0000000000001,
                                   0x3ff0000000000000};
constexpr uint16_t kSpecial16[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff,
                                   0x7c00, 0xfc00, 0x7e01, 0xfd00, 0x7c01, 0x3c00, 0x007f, 0x0080,
                                   0x7f7f, 0x7f80, 0xff80, 0x7fc1, 0xff81, 0x3f80};

using Random = std::mt19937_64;

/// Whether a type has an operation: see mdist_reduce_op_t.
inline bool takes(int32_t op, int32_t dtype) {
    if (op == MDIST_AND || op == MDIST_OR || op == MDIST_XOR) return dtype_is_integer(dtype);
    if (dtype == MDIST_BOOL) return op == MDIST_MIN || op == MDIST_MAX;
    return op != MDIST_MEAN || !dtype_is_integer(dtype);
}
template <class Op>
bool takes(Op op, int32_t dtype) {
    return takes(static_cast<int32_t>(op), dtype);
}

template <typename Bits, std::size_t n>
Bits special(Random &random, const Bits (&bits)[n]) {
    return bits[random() % n];
}

// One element: seldom special, as seldom a zero (so that zeros of both signs meet), half of the others any bits, the
// rest of ordinary size so that sums stay finite.
inline void fill_element(Random &random, int32_t dtype, unsigned char *out) {
    const uint64_t choice = random() % 32;
    uint64_t bits = random();
    if (dtype == MDIST_FLOAT32) {
        const float ordinary = static_cast<float>(static_cast<int64_t>(bits)) * 0x1p-63f;
        uint32_t word = static_cast<uint32_t>(bits);
        if (choice == 1) word &= 0x80000000;
        if (choice == 0) word = special(random, kSpecial32);
        if (choice > 8) std::memcpy(&word, &ordinary, sizeof word);
        std::memcpy(out, &word, sizeof word);
    } else if (dtype == MDIST_FLOAT64) {
        const double ordinary = static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-63;
        if (choice == 1) bits &= 0x8000000000000000;
        if (choice == 0) bits = special(random, kSpecial64);
        if (choice > 8) std::memcpy(&bits, &ordinary, sizeof bits);
        std::memcpy(out, &bits, sizeof bits);
    } else if (dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16) {
        uint16_t half = static_cast<uint16_t>(bits);
        if (choice == 1) half &= 0x8000;
        if (choice == 0) half = special(random, kSpecial16);
        // Near one: exponents 10 to 17 of a float16, 120 to 127 of a bfloat16.
        if (choice > 8 && dtype == MDIST_FLOAT16)
            half = static_cast<uint16_t>(0x2800 + bits % 0x1fff) | (half & 0x8000);
        if (choice > 8 && dtype == MDIST_BFLOAT16)
            half = static_cast<uint16_t>(0x3c00 + bits % 0x3ff) | (half & 0x8000);
        std::memcpy(out, &half, sizeof half);
    } else if (dtype == MDIST_BOOL) {
        *out = choice == 0 ? static_cast<unsigned char>(bits) : bits % 2;
    } else {
        std::memcpy(out, &bits, dtype_size(dtype));
    }
}

inline void fill_elements(Random &random, int32_t dtype, void *out, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i)
        fill_element(random, dtype, static_cast<unsigned char *>(out) + i * dtype_size(dtype));
}

} // namespace mdist
