// SPDX-License-Identifier: Apache-2.0
#include "reduce_reference.h"

#include <mdist/tensor.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace mdist::reduce {
namespace {

template <typename T>
T read(const void *array, std::size_t index) {
    T value;
    std::memcpy(&value, static_cast<const char *>(array) + index * sizeof value, sizeof value);
    return value;
}

template <typename T>
void write(void *array, std::size_t index, T value) {
    std::memcpy(static_cast<char *>(array) + index * sizeof value, &value, sizeof value);
}

uint32_t bits_of(float value) {
    return read<uint32_t>(&value, 0);
}

// Binary16: sign, 5 bits of exponent (bias 15), 10 of fraction.
float float_of_half(uint16_t half) {
    const int exponent = half >> 10 & 31;
    const int fraction = half & 1023;
    float magnitude;
    if (exponent == 31) {
        magnitude = fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    } else if (exponent == 0) {
        magnitude = std::ldexp(static_cast<float>(fraction), -24);
    } else {
        magnitude = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    }
    return half & 0x8000 ? -magnitude : magnitude;
}

uint16_t half_of_float(float value) {
    if (std::isnan(value)) return 0x7e00;
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
    // The magnitude is rounded to an integer, in units of the last place of its binade. 1024 such units are a leading
    // one, which carries into the exponent by itself.
    int exponent = magnitude < std::ldexp(1.0, -14) ? -14 : std::ilogb(magnitude);
    const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    return static_cast<uint16_t>(sign | (((exponent + 14) << 10) + units));
}

float float_of_bfloat(uint16_t bfloat) {
    const uint32_t bits = static_cast<uint32_t>(bfloat) << 16;
    return read<float>(&bits, 0);
}

uint16_t bfloat_of_float(float value) {
    if (std::isnan(value)) return 0x7fc0;
    const uint32_t bits = bits_of(value);
    const uint32_t dropped = bits & 0xffff;
    uint32_t kept = bits >> 16;
    if (dropped > 0x8000 || (dropped == 0x8000 && kept % 2 == 1)) ++kept;
    return static_cast<uint16_t>(kept);
}

template <typename T>
T smaller(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a)) return a;
        if (std::isnan(b)) return b;
        if (a == 0 && b == 0) return std::signbit(a) ? a : b;
    }
    return b < a ? b : a;
}

template <typename T>
T larger(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a)) return a;
        if (std::isnan(b)) return b;
        if (a == 0 && b == 0) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
}

template <typename T>
T combine(Op op, T a, T b) {
    if (op == Op::kMin) return smaller(a, b);
    if (op == Op::kMax) return larger(a, b);
    if constexpr (std::is_integral_v<T>) {
        if (op == Op::kAnd) return static_cast<T>(a & b);
        if (op == Op::kOr) return static_cast<T>(a | b);
        if (op == Op::kXor) return static_cast<T>(a ^ b);
    }
    if constexpr (std::is_floating_point_v<T>) {
        return op == Op::kProd ? a * b : a + b;
    } else {
        // 64-bit unsigned arithmetic wraps around, and so do the low bits that are kept.
        const uint64_t x = static_cast<uint64_t>(a);
        const uint64_t y = static_cast<uint64_t>(b);
        return static_cast<T>(op == Op::kProd ? x * y : x + y);
    }
}

/// How an element is stored, and the type it is reduced in.
template <typename T>
struct Same {
    using Stored = T;
    using Value = T;
    static T decode(T stored) { return stored; }
    static T encode(T value) {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(value)) return std::numeric_limits<T>::quiet_NaN();
        }
        return value;
    }
};
struct Truth {
    using Stored = uint8_t;
    using Value = uint8_t;
    static uint8_t decode(uint8_t stored) { return stored == 0 ? 0 : 1; }
    static uint8_t encode(uint8_t value) { return value; }
};
struct Half {
    using Stored = uint16_t;
    using Value = float;
    static float decode(uint16_t stored) { return float_of_half(stored); }
    static uint16_t encode(float value) { return half_of_float(value); }
};
struct Bfloat {
    using Stored = uint16_t;
    using Value = float;
    static float decode(uint16_t stored) { return float_of_bfloat(stored); }
    static uint16_t encode(float value) { return bfloat_of_float(value); }
};

template <typename Format>
typename Format::Value tree(Op op, const void *const *sources, std::size_t lo, std::size_t hi, std::size_t element) {
    if (hi - lo == 1) return Format::decode(read<typename Format::Stored>(sources[lo], element));
    std::size_t power = 1;
    while (2 * power < hi - lo) power *= 2;
    return combine(op, tree<Format>(op, sources, lo, lo + power, element),
                   tree<Format>(op, sources, lo + power, hi, element));
}

template <typename Format>
void reduce_all(const Operation &operation, const void *const *sources, std::size_t source_count,
                void *const *destinations, std::size_t destination_count, std::size_t elements) {
    using Value = typename Format::Value;
    if (destination_count == 0) return;
    for (std::size_t i = 0; i < elements; ++i) {
        Value value = tree<Format>(operation.op, sources, 0, source_count, i);
        if constexpr (std::is_floating_point_v<Value>) {
            if (operation.op == Op::kMean) value /= static_cast<Value>(operation.divisor);
        }
        const typename Format::Stored stored = Format::encode(value);
        for (std::size_t d = 0; d < destination_count; ++d) write(destinations[d], i, stored);
    }
}

template <typename Format>
double square_all(const void *data, std::size_t elements) {
    double lanes[16] = {};
    for (std::size_t i = 0; i < elements; ++i) {
        const double value = static_cast<double>(Format::decode(read<typename Format::Stored>(data, i)));
        lanes[i % 16] += value * value;
    }
    for (int half = 8; half != 0; half /= 2)
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

template <typename Format>
void scale_all(void *data, double factor, std::size_t elements) {
    using Value = typename Format::Value;
    for (std::size_t i = 0; i < elements; ++i)
        write(data, i,
              Format::encode(Format::decode(read<typename Format::Stored>(data, i)) * static_cast<Value>(factor)));
}

template <typename Result, typename By>
Result by_float_format(int32_t dtype, const By &by) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return by(Same<float>{});
        case MDIST_FLOAT64:
            return by(Same<double>{});
        case MDIST_FLOAT16:
            return by(Half{});
        default:
            return by(Bfloat{});
    }
}

template <typename By>
void by_format(int32_t dtype, const By &by) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return by(Same<float>{});
        case MDIST_FLOAT64:
            return by(Same<double>{});
        case MDIST_FLOAT16:
            return by(Half{});
        case MDIST_BFLOAT16:
            return by(Bfloat{});
        case MDIST_INT8:
            return by(Same<int8_t>{});
        case MDIST_UINT8:
            return by(Same<uint8_t>{});
        case MDIST_INT32:
            return by(Same<int32_t>{});
        case MDIST_UINT32:
            return by(Same<uint32_t>{});
        case MDIST_INT64:
            return by(Same<int64_t>{});
        case MDIST_UINT64:
            return by(Same<uint64_t>{});
        case MDIST_INT16:
            return by(Same<int16_t>{});
        case MDIST_UINT16:
            return by(Same<uint16_t>{});
        case MDIST_BOOL:
            return by(Truth{});
        default:
            return;
    }
}

template <typename Format>
void add_all(bool subtracts, void *to, const void *from, std::size_t elements) {
    using Value = typename Format::Value;
    using Wide = std::conditional_t<std::is_floating_point_v<Value>, Value, uint64_t>; // wraps around, as in combine()
    for (std::size_t i = 0; i < elements; ++i) {
        const auto a = static_cast<Wide>(Format::decode(read<typename Format::Stored>(to, i)));
        const auto b = static_cast<Wide>(Format::decode(read<typename Format::Stored>(from, i)));
        write(to, i, Format::encode(static_cast<Value>(subtracts ? a - b : a + b)));
    }
}

template <typename Format>
void divide_all(void *to, uint64_t divisor, std::size_t elements) {
    using Value = typename Format::Value;
    for (std::size_t i = 0; i < elements; ++i) {
        const Value value = Format::decode(read<typename Format::Stored>(to, i));
        if constexpr (std::is_floating_point_v<Value>) {
            write(to, i, Format::encode(value / static_cast<Value>(divisor)));
        } else {
            const auto bits = static_cast<uint64_t>(value);
            const uint64_t quotient = (value < 0 ? 0 - bits : bits) / divisor;
            write(to, i, static_cast<Value>(value < 0 ? 0 - quotient : quotient));
        }
    }
}

} // namespace

double sum_of_squares_reference(int32_t dtype, const void *data, std::size_t elements) noexcept {
    return by_float_format<double>(dtype, [&](auto format) { return square_all<decltype(format)>(data, elements); });
}

void scale_reference(int32_t dtype, void *data, double factor, std::size_t elements) noexcept {
    by_float_format<void>(dtype, [&](auto format) { scale_all<decltype(format)>(data, factor, elements); });
}

void add_reference(int32_t dtype, bool subtracts, void *to, const void *from, std::size_t elements) noexcept {
    by_format(dtype, [&](auto format) { add_all<decltype(format)>(subtracts, to, from, elements); });
}

void divide_reference(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) noexcept {
    by_format(dtype, [&](auto format) { divide_all<decltype(format)>(to, divisor, elements); });
}

void reduce_reference(const Operation &operation, const void *const *sources, std::size_t source_count,
                      void *const *destinations, std::size_t destination_count, std::size_t elements) noexcept {
    const auto by = [&](auto format) {
        reduce_all<decltype(format)>(operation, sources, source_count, destinations, destination_count, elements);
    };
    by_format(operation.dtype, by);
}

} // namespace mdist::reduce
