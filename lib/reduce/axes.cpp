// SPDX-License-Identifier: Apache-2.0
#include "reduce/axes.h"

#include "reduce/elements.h"
#include "util/dtype.h"

#include <mdist/collective.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace mdist::reduce {
namespace {

uint64_t whole_at(int32_t dtype, const void *data, uint64_t i) {
    uint64_t whole = 0;
    with_type(dtype, [&](auto type) {
        using T = decltype(type);
        if constexpr (std::is_integral_v<T>) whole = static_cast<uint64_t>(load<T>(data, i));
        if constexpr (std::is_same_v<T, Truth>) whole = load<T>(data, i) != Truth{} ? 1 : 0;
    });
    return whole;
}

bool is_signed(int32_t dtype) {
    return dtype == MDIST_INT8 || dtype == MDIST_INT16 || dtype == MDIST_INT32 || dtype == MDIST_INT64;
}

double combined(int32_t op, double a, double b) {
    if (op == MDIST_SUM || op == MDIST_MEAN) return a + b;
    if (op == MDIST_PROD) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    if (a == b) return std::signbit(a) == (op == MDIST_MIN) ? a : b; // -0 is below +0
    return (a < b) == (op == MDIST_MIN) ? a : b;
}

uint64_t combined(int32_t op, int32_t dtype, uint64_t a, uint64_t b) {
    if (op == MDIST_SUM || op == MDIST_MEAN) return a + b;
    if (op == MDIST_PROD) return a * b;
    if (op == MDIST_AND) return a & b;
    if (op == MDIST_OR) return a | b;
    if (op == MDIST_XOR) return a ^ b;
    const bool less = is_signed(dtype) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
    return less == (op == MDIST_MIN) ? a : b;
}

uint64_t neutral_whole(int32_t op, int32_t dtype) {
    if (op == MDIST_AND) return dtype == MDIST_BOOL ? 1 : UINT64_MAX;
    uint64_t value = op == MDIST_PROD ? 1 : 0;
    with_type(dtype, [&](auto type) {
        using T = decltype(type);
        if constexpr (std::is_integral_v<T>) {
            if (op == MDIST_MIN) value = static_cast<uint64_t>(std::numeric_limits<T>::max());
            if (op == MDIST_MAX) value = static_cast<uint64_t>(std::numeric_limits<T>::min());
        }
        if constexpr (std::is_same_v<T, Truth>) value = op == MDIST_MIN ? 1 : 0;
    });
    return value;
}

double neutral_real(int32_t op) {
    switch (op) {
        case MDIST_PROD:
            return 1;
        case MDIST_MIN:
            return std::numeric_limits<double>::infinity();
        case MDIST_MAX:
            return -std::numeric_limits<double>::infinity();
        default:
            return 0;
    }
}

/// Strides of the remaining array; 0 for dimensions that are reduced.
void kept_strides(const Shape &shape, const bool (&reduced)[MDIST_MAX_RANK], uint64_t (&strides)[MDIST_MAX_RANK]) {
    uint64_t stride = 1;
    for (int32_t d = shape.rank - 1; d >= 0; --d) {
        strides[d] = reduced[d] ? 0 : stride;
        if (!reduced[d]) stride *= shape.dims[d];
    }
}

} // namespace

Accumulators neutral(int32_t op, int32_t dtype, uint64_t elements) {
    Accumulators accumulators;
    accumulators.integer = dtype_is_integer(dtype);
    if (accumulators.integer)
        accumulators.whole.assign(elements, neutral_whole(op, dtype));
    else
        accumulators.real.assign(elements, neutral_real(op));
    return accumulators;
}

void fold(Accumulators &into, int32_t op, int32_t dtype, const void *data, const Shape &shape,
          const bool (&reduced)[MDIST_MAX_RANK]) {
    uint64_t strides[MDIST_MAX_RANK] = {};
    kept_strides(shape, reduced, strides);
    uint64_t index[MDIST_MAX_RANK] = {};
    uint64_t at = 0;
    const uint64_t elements = shape.elements();
    for (uint64_t i = 0; i < elements; ++i) {
        if (into.integer)
            into.whole[at] = combined(op, dtype, into.whole[at], whole_at(dtype, data, i));
        else
            into.real[at] = combined(op, into.real[at], load_real(dtype, data, i));
        for (int32_t d = shape.rank - 1; d >= 0; --d) {
            at += strides[d];
            if (++index[d] < shape.dims[d]) break;
            at -= strides[d] * shape.dims[d];
            index[d] = 0;
        }
    }
}

void combine(Accumulators &into, int32_t op, int32_t dtype, const Accumulators &from) {
    for (std::size_t i = 0; i < into.whole.size(); ++i)
        into.whole[i] = combined(op, dtype, into.whole[i], from.whole[i]);
    for (std::size_t i = 0; i < into.real.size(); ++i) into.real[i] = combined(op, into.real[i], from.real[i]);
}

void narrow(const Accumulators &from, double divisor, int32_t dtype, void *to) {
    with_type(dtype, [&](auto type) {
        using T = decltype(type);
        const auto put = [&](std::size_t i, auto value) {
            std::memcpy(static_cast<char *>(to) + i * sizeof value, &value, sizeof value);
        };
        for (std::size_t i = 0; i < from.whole.size(); ++i)
            if constexpr (std::is_integral_v<T> || std::is_same_v<T, Truth>) put(i, static_cast<T>(from.whole[i]));
        for (std::size_t i = 0; i < from.real.size(); ++i) {
            double value = from.real[i] / divisor;
            if (std::isnan(value)) value = std::bit_cast<double>(uint64_t{0x7ff8000000000000});
            if constexpr (std::is_same_v<T, Half>) put(i, double_to_half(value));
            if constexpr (std::is_same_v<T, BrainFloat>) put(i, double_to_bfloat16(value));
            if constexpr (std::is_floating_point_v<T>) put(i, static_cast<T>(value));
        }
    });
}

void mean_of_integers(const Accumulators &from, double divisor, int32_t dtype, void *to) {
    for (std::size_t i = 0; i < from.whole.size(); ++i) {
        const double sum = is_signed(dtype) ? static_cast<double>(static_cast<int64_t>(from.whole[i]))
                                            : static_cast<double>(from.whole[i]);
        const double mean =
            std::isnan(sum / divisor) ? std::bit_cast<double>(uint64_t{0x7ff8000000000000}) : sum / divisor;
        std::memcpy(static_cast<char *>(to) + i * sizeof mean, &mean, sizeof mean);
    }
}

} // namespace mdist::reduce
