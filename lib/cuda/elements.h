// SPDX-License-Identifier: Apache-2.0
// Arithmetic on one element, with the results of lib/reduce. Kernels and CPU tests compile the same source, and the
// tests compare it with lib/reduce bit for bit.
//
// A format has two types: Element as stored, and Value as computed in. Integers are always unsigned. Their sums and
// products wrap to the same bits. For comparisons, flipping the sign bit brings signed integers into the order of
// unsigned ones (Operator::bias).
#pragma once

#include <mdist/tensor.h>
#include <stdint.h>

#ifdef __CUDACC__
#define MDIST_BOTH __host__ __device__ __forceinline__
#else
#define MDIST_BOTH inline
#endif

// Makes loops unroll, so that arrays whose indices are all known become registers.
#ifdef __CUDA_ARCH__
#define MDIST_UNROLL _Pragma("unroll")
#else
#define MDIST_UNROLL
#endif

namespace mdist::cuda {

template <typename To, typename From>
MDIST_BOTH To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

template <typename Value>
struct Traits {
    static constexpr bool is_float = false;
    using Bits = Value;
};
template <>
struct Traits<float> {
    static constexpr bool is_float = true;
    using Bits = uint32_t;
    static constexpr Bits kNan = 0x7fc00000;
};
template <>
struct Traits<double> {
    static constexpr bool is_float = true;
    using Bits = uint64_t;
    static constexpr Bits kNan = 0x7ff8000000000000;
};

template <typename T>
struct Plain {
    using Element = T;
    using Value = T;
    static MDIST_BOTH Value load(Element stored) { return stored; }
    static MDIST_BOTH Element store(Value value) {
        if constexpr (Traits<T>::is_float) {
            if (value != value) return same_bits<T>(Traits<T>::kNan);
        }
        return value;
    }
};

struct Bool {
    using Element = uint8_t;
    using Value = uint8_t;
    static MDIST_BOTH uint8_t load(uint8_t stored) { return stored != 0 ? 1 : 0; }
    static MDIST_BOTH uint8_t store(uint8_t value) { return value; }
};

struct Bfloat16 {
    using Element = uint16_t;
    using Value = float;
    static MDIST_BOTH float load(uint16_t stored) { return same_bits<float>(static_cast<uint32_t>(stored) << 16); }
    static MDIST_BOTH uint16_t store(float value) {
        const uint32_t bits = same_bits<uint32_t>(value);
        const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        return static_cast<uint16_t>(value == value ? rounded : 0x7fc0);
    }
};

struct Float16 {
    using Element = uint16_t;
    using Value = float;
#ifdef __CUDA_ARCH__
    static MDIST_BOTH float load(uint16_t stored) {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
        return value;
    }
    static MDIST_BOTH uint16_t store(float value) {
        uint16_t rounded;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
        return value == value ? rounded : uint16_t{0x7e00};
    }
#else
    // Exponents move by 127 - 15 = 112. Subnormal halves are multiples of 2^-24.
    static MDIST_BOTH float load(uint16_t stored) {
        const uint32_t sign = (stored & 0x8000u) << 16;
        const uint32_t magnitude = stored & 0x7fffu;
        uint32_t bits = (magnitude << 13) + (112u << 23);
        if (magnitude < 0x0400) bits = same_bits<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
        if (magnitude >= 0x7c00) bits = magnitude << 13 | 0x7f800000;
        return same_bits<float>(bits | sign);
    }
    // Below 2^-14, adding 0.5 leaves the rounded multiple of 2^-24 in the low bits. From 65520 on, the result is
    // infinity.
    static MDIST_BOTH uint16_t store(float value) {
        const uint32_t all = same_bits<uint32_t>(value);
        const uint32_t magnitude = all & 0x7fffffff;
        uint32_t bits = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
        if (magnitude < 0x38800000) bits = same_bits<uint32_t>(same_bits<float>(magnitude) + 0.5f) - 0x3f000000;
        if (magnitude >= 0x477ff000) bits = 0x7c00;
        bits |= all >> 16 & 0x8000;
        return static_cast<uint16_t>(value == value ? bits : 0x7e00);
    }
#endif
};

/// Calls use(format) with the format of a floating-point dtype, and returns what that returns.
template <typename Use>
auto with_float_format(int32_t dtype, Use use) {
    switch (dtype) {
        case MDIST_FLOAT32:
            return use(Plain<float>{});
        case MDIST_FLOAT64:
            return use(Plain<double>{});
        case MDIST_FLOAT16:
            return use(Float16{});
        default:
            return use(Bfloat16{});
    }
}

/// The same for any dtype.
template <typename Use>
auto with_format(int32_t dtype, Use use) {
    switch (dtype) {
        case MDIST_INT8:
        case MDIST_UINT8:
            return use(Plain<uint8_t>{});
        case MDIST_INT16:
        case MDIST_UINT16:
            return use(Plain<uint16_t>{});
        case MDIST_INT32:
        case MDIST_UINT32:
            return use(Plain<uint32_t>{});
        case MDIST_INT64:
        case MDIST_UINT64:
            return use(Plain<uint64_t>{});
        case MDIST_BOOL:
            return use(Bool{});
        default:
            return with_float_format(dtype, use);
    }
}

/// How two elements are combined. All but the difference have the numbers of mdist_reduce_op_t.
enum class Combine : int32_t {
    kSum = 1,
    kMin = 3,
    kMax = 4,
    kProd = 5,
    kAnd = 6,
    kOr = 7,
    kXor = 8,
    kDifference = 100 // MDIST_GPU_DIFFERENCE
};

/// The smaller or the larger value. NaN if one is NaN; -0 is less than +0.
template <bool less, typename Value>
MDIST_BOTH Value extreme(Value a, Value b) {
    if constexpr (Traits<Value>::is_float) {
        using Bits = typename Traits<Value>::Bits;
        if (a == b) { // equal values with different bits are zeros
            if constexpr (less) {
                return same_bits<Value>(static_cast<Bits>(same_bits<Bits>(a) | same_bits<Bits>(b)));
            } else {
                return same_bits<Value>(static_cast<Bits>(same_bits<Bits>(a) & same_bits<Bits>(b)));
            }
        }
        if (a != a) return a;
        if (b != b) return b;
    }
    if constexpr (less) {
        return a < b ? a : b;
    } else {
        return a < b ? b : a;
    }
}

template <typename Value>
MDIST_BOTH Value combine(Combine how, Value a, Value b) {
    if constexpr (!Traits<Value>::is_float) {
        if (how == Combine::kAnd) return static_cast<Value>(a & b);
        if (how == Combine::kOr) return static_cast<Value>(a | b);
        if (how == Combine::kXor) return static_cast<Value>(a ^ b);
    }
    switch (how) {
        case Combine::kMin:
            return extreme<true>(a, b);
        case Combine::kMax:
            return extreme<false>(a, b);
        case Combine::kProd:
            return static_cast<Value>(a * b);
        case Combine::kDifference:
            return static_cast<Value>(a - b);
        default:
            return static_cast<Value>(a + b);
    }
}

/// What to do to a sum before storing it. The reciprocal of a power of two is exact, so multiplying by it rounds the
/// same as dividing.
enum class Scale : int32_t { kNone, kMultiply, kDivide };

struct Factor {
    Scale scale = Scale::kNone;
    float single = 1;
    double real = 1;
};

MDIST_BOTH float factor_of(const Factor &factor, float) {
    return factor.single;
}
MDIST_BOTH double factor_of(const Factor &factor, double) {
    return factor.real;
}

template <typename Value>
MDIST_BOTH Value scaled(Value value, const Factor &factor) {
    if constexpr (Traits<Value>::is_float) {
        if (factor.scale == Scale::kMultiply) return value * factor_of(factor, value);
        if (factor.scale == Scale::kDivide) return value / factor_of(factor, value);
    }
    return value;
}

/// Divides integers, truncating towards zero. It divides magnitudes, so the divisor may be larger than any value.
template <typename Unsigned>
MDIST_BOTH Unsigned divided(Unsigned value, uint64_t divisor, bool is_signed) {
    const bool negative = is_signed && (value >> (8 * sizeof value - 1)) != 0;
    const Unsigned magnitude = negative ? static_cast<Unsigned>(Unsigned{0} - value) : value;
    const Unsigned quotient = static_cast<Unsigned>(magnitude / divisor);
    return negative ? static_cast<Unsigned>(Unsigned{0} - quotient) : quotient;
}

// Rounding a float64 to 16 bits through a float32 would round twice. This truncates to float32 instead, and sets the
// last bit if anything was cut off. That is all the second rounding has to know.
MDIST_BOTH float cut_to_odd(double value) {
    float nearest = static_cast<float>(value);
    const double back = static_cast<double>(nearest);
    if (back == value || value != value) return nearest;
    uint32_t bits = same_bits<uint32_t>(nearest);
    if ((back < 0 ? -back : back) > (value < 0 ? -value : value)) --bits;
    return same_bits<float>(bits | 1);
}

template <typename Format>
MDIST_BOTH typename Format::Element rounded(double value) {
    if constexpr (sizeof(typename Format::Element) == 2) {
        return Format::store(cut_to_odd(value));
    } else {
        return Format::store(static_cast<typename Format::Value>(value));
    }
}

template <typename From, typename To>
MDIST_BOTH typename To::Element converted(typename From::Element element, double factor) {
    const auto value = From::load(element);
    if constexpr (sizeof(typename From::Value) == 8 || sizeof(typename To::Value) == 8) {
        return rounded<To>(static_cast<double>(value) * factor);
    } else {
        return To::store(value * static_cast<float>(factor));
    }
}

} // namespace mdist::cuda
