// SPDX-License-Identifier: Apache-2.0
// What a reduction gives, by its definition in collective.h: the canonical tree, one element at a time.
#pragma once

#include <math.h>

#include "mdist_test.h"

enum { DTYPES = 13, OPS = 8, MOST_SOURCES = 12 };

MDIST_TEST_HELPER int is_integer(int32_t dtype) {
    return dtype >= MDIST_INT8;
}

/// Whether a type has an operation.
MDIST_TEST_HELPER int takes(int op, int32_t dtype) {
    if (op >= MDIST_AND) return is_integer(dtype);
    if (dtype == MDIST_BOOL) return op == MDIST_MIN || op == MDIST_MAX;
    return op != MDIST_MEAN || !is_integer(dtype);
}

MDIST_TEST_HELPER int is_signed(int32_t dtype) {
    return dtype == MDIST_INT8 || dtype == MDIST_INT16 || dtype == MDIST_INT32 || dtype == MDIST_INT64;
}

// Converts the bits of a 16-bit binary format to a float, field by field.
MDIST_TEST_HELPER float widen16(uint16_t bits, int fraction_bits) {
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int most = (1 << (15 - fraction_bits)) - 1;
    const int bias = most >> 1;
    float value;
    if (exponent == most)
        value = fraction != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpf((float)fraction, 1 - bias - fraction_bits);
    else
        value = ldexpf((float)(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
    return (bits & 0x8000) != 0 ? -value : value;
}

// Rounds to the nearest number of the 16-bit format, ties to even, by binary search.
MDIST_TEST_HELPER uint16_t narrow16(float value, int fraction_bits) {
    const int most = (1 << (15 - fraction_bits)) - 1;
    const uint16_t infinity = (uint16_t)(most << fraction_bits);
    if (isnan(value)) return (uint16_t)(infinity | 1 << (fraction_bits - 1));
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double magnitude = fabs((double)value);
    uint16_t low = 0, high = infinity; // low <= magnitude < high; infinity is the number after the last
    const double after_last = ldexp(1, (most >> 1) + 1);
    if (magnitude >= after_last) return sign | infinity;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if ((double)widen16(middle, fraction_bits) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    const double to_low = magnitude - (double)widen16(low, fraction_bits);
    const double upper = high == infinity ? after_last : (double)widen16(high, fraction_bits);
    const double to_high = upper - magnitude;
    if (to_low < to_high || (to_low == to_high && low % 2 == 0)) return sign | low;
    return sign | high;
}

MDIST_TEST_HELPER double real_combined(int op, double a, double b) {
    switch (op) {
        case MDIST_MIN:
            if (isnan(a) || isnan(b)) return NAN;
            return a < b || (a == b && signbit(a)) ? a : b;
        case MDIST_MAX:
            if (isnan(a) || isnan(b)) return NAN;
            return a > b || (a == b && !signbit(a)) ? a : b;
        case MDIST_PROD:
            return a * b;
        default:
            return a + b;
    }
}

// Sums and products of two floats are computed in double and rounded to float. That gives the bits of float arithmetic,
// because a double has more than twice as many digits.
MDIST_TEST_HELPER double real_tree(int op, int single, const double *values, size_t lo, size_t hi) {
    if (hi - lo == 1) return values[lo];
    size_t half = 1;
    while (2 * half < hi - lo) half *= 2;
    const double result =
        real_combined(op, real_tree(op, single, values, lo, lo + half), real_tree(op, single, values, lo + half, hi));
    return single ? (double)(float)result : result;
}

MDIST_TEST_HELPER uint64_t whole_reduced(int op, int with_sign, const uint64_t *values, size_t n) {
    uint64_t result = values[0];
    for (size_t i = 1; i < n; ++i) {
        const int less = with_sign ? (int64_t)values[i] < (int64_t)result : values[i] < result;
        if (op == MDIST_SUM) result += values[i];
        if (op == MDIST_PROD) result *= values[i];
        if (op == MDIST_AND) result &= values[i];
        if (op == MDIST_OR) result |= values[i];
        if (op == MDIST_XOR) result ^= values[i];
        if ((op == MDIST_MIN && less) || (op == MDIST_MAX && !less)) result = values[i];
    }
    return result;
}

MDIST_TEST_HELPER double load_real(int32_t dtype, const unsigned char *at) {
    unsigned char bytes[8] = {0};
    uint16_t half;
    float single;
    double wide;
    memcpy(bytes, at, mdist_dtype_size((mdist_dtype_t)dtype));
    memcpy(&half, bytes, sizeof half);
    if (dtype == MDIST_FLOAT16) return (double)widen16(half, 10);
    if (dtype == MDIST_BFLOAT16) return (double)widen16(half, 7);
    if (dtype == MDIST_FLOAT32) return memcpy(&single, bytes, sizeof single), (double)single;
    return memcpy(&wide, bytes, sizeof wide), wide;
}

MDIST_TEST_HELPER void store_real(int32_t dtype, double value, unsigned char *at) {
    if (dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16) {
        const uint16_t bits = narrow16((float)value, dtype == MDIST_FLOAT16 ? 10 : 7);
        memcpy(at, &bits, sizeof bits);
    } else if (dtype == MDIST_FLOAT32) {
        const float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        if (isnan(value)) bits = 0x7fc00000;
        memcpy(at, &bits, sizeof bits);
    } else {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (isnan(value)) bits = 0x7ff8000000000000;
        memcpy(at, &bits, sizeof bits);
    }
}

MDIST_TEST_HELPER uint64_t load_whole(int32_t dtype, const unsigned char *at) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    if (is_signed(dtype) && size < 8 && (bits >> (8 * size - 1)) != 0) bits |= ~(uint64_t)0 << (8 * size);
    return bits;
}

/// Reduces `n` arrays as the header describes it.
MDIST_TEST_HELPER void reduce_plainly(int op, int32_t dtype, const unsigned char *const *sources, size_t n,
                                      unsigned char *out, uint64_t elements) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    const int single = dtype != MDIST_FLOAT64;
    for (uint64_t i = 0; i < elements; ++i) {
        double reals[MOST_SOURCES];
        uint64_t wholes[MOST_SOURCES] = {0};
        for (size_t s = 0; s < n; ++s) {
            if (is_integer(dtype))
                wholes[s] = load_whole(dtype, sources[s] + i * size);
            else
                reals[s] = load_real(dtype, sources[s] + i * size);
        }
        if (is_integer(dtype)) {
            for (size_t s = 0; s < n && dtype == MDIST_BOOL; ++s) wholes[s] = wholes[s] != 0;
            const uint64_t result = whole_reduced(op, is_signed(dtype), wholes, n);
            memcpy(out + i * size, &result, size);
            continue;
        }
        double result = real_tree(op, single, reals, 0, n);
        if (op == MDIST_MEAN) result = single ? (double)((float)result / (float)n) : result / (double)n;
        store_real(dtype, result, out + i * size);
    }
}
