// SPDX-License-Identifier: Apache-2.0
// Vectors as wide as the instruction set that the including file is compiled for, and the operations that the kernels
// need on them.
//
// Only kernels.cpp may include this. Everything is in an anonymous namespace, and nothing calls the standard library.
// So no function compiled for a newer processor can replace the same function of another file.
#pragma once

#include "reduce/operation.h"

#include <stddef.h>

#if MDIST_REDUCE_BYTES > 16 || defined(__SSE2__)
#include <immintrin.h>
#endif

#define MDIST_INLINE inline __attribute__((always_inline))

namespace mdist::reduce {
namespace {

constexpr int kBytes = MDIST_REDUCE_BYTES;

template <typename T, int bytes = kBytes>
struct VectorOf {
    typedef T Type __attribute__((vector_size(bytes)));
};
template <typename T, int bytes = kBytes>
using Vector = typename VectorOf<T, bytes>::Type;

template <typename T>
constexpr bool is_float = false;
template <>
constexpr bool is_float<float> = true;
template <>
constexpr bool is_float<double> = true;

template <typename T>
struct BitsOf {
    using Type = uint32_t;
    static constexpr Type kNan = 0x7fc00000;
};
template <>
struct BitsOf<double> {
    using Type = uint64_t;
    static constexpr Type kNan = 0x7ff8000000000000;
};

template <typename V>
MDIST_INLINE V load_bytes(const char *from) {
    V value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

template <typename V>
MDIST_INLINE void store_bytes(char *to, V value) {
    __builtin_memcpy(to, &value, sizeof value);
}

template <typename T>
MDIST_INLINE Vector<T> all(T value) {
    return Vector<T>{} + value;
}

// x86's own minimum does not treat NaN and the sign of zero as needed here. Where both values are equal their bits are
// equal too, except for zeros: there OR gives -0 if one is -0, and AND gives +0 if one is +0.
template <Op op, typename T>
MDIST_INLINE Vector<T> extreme(Vector<T> a, Vector<T> b) {
    Vector<T> winner;
    if constexpr (op == Op::kMin) {
        winner = a < b ? a : b;
    } else {
        winner = a > b ? a : b;
    }
    if constexpr (is_float<T>) {
        using Bits = Vector<typename BitsOf<T>::Type>;
        Bits joined;
        if constexpr (op == Op::kMin) {
            joined = (Bits)a | (Bits)b;
        } else {
            joined = (Bits)a & (Bits)b;
        }
        winner = a == b ? (Vector<T>)joined : winner;
        winner = a == a ? winner : a;
    }
    return winner;
}

template <Op op, typename T>
MDIST_INLINE Vector<T> combine(Vector<T> a, Vector<T> b) {
    if constexpr (op == Op::kSum) {
        return a + b;
    } else if constexpr (op == Op::kProd) {
        return a * b;
    } else if constexpr (op == Op::kAnd) {
        return a & b;
    } else if constexpr (op == Op::kOr) {
        return a | b;
    } else if constexpr (op == Op::kXor) {
        return a ^ b;
    } else {
        return extreme<op, T>(a, b);
    }
}

// A format says how elements lie in memory. Value is the type they are computed in; pack() turns a vector of values
// into what is stored.
template <typename T>
struct Plain {
    using Element = T;
    using Value = T;
    static MDIST_INLINE Vector<T> load(const char *from) { return load_bytes<Vector<T>>(from); }
    static MDIST_INLINE Vector<T> pack(Vector<T> value) {
        if constexpr (is_float<T>) value = value == value ? value : (Vector<T>)all(BitsOf<T>::kNan);
        return value;
    }
};

using Words = Vector<uint32_t>;
using Ints = Vector<int32_t>;
using Floats = Vector<float>;
using Halves = Vector<uint16_t, kBytes / 2>;

// Convert 16-bit elements to words and back (words below 0x10000 only). The code that compilers make of
// __builtin_convertvector is several times slower. With AVX-512 these are the masked forms with all lanes on, because
// in the others gcc 12 warns about its own header.
#if MDIST_REDUCE_BYTES == 64
MDIST_INLINE Words extend(Halves halves) {
    return (Words)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)halves);
}
MDIST_INLINE Halves shorten(Words words) {
    return (Halves)_mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)words);
}
#elif MDIST_REDUCE_BYTES == 32
MDIST_INLINE Words extend(Halves halves) {
    return (Words)_mm256_cvtepu16_epi32((__m128i)halves);
}
MDIST_INLINE Halves shorten(Words words) {
    const __m256i all = (__m256i)words;
    return (Halves)_mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}
#elif defined(__SSE2__)
MDIST_INLINE Words extend(Halves halves) {
    return (Words)_mm_unpacklo_epi16(_mm_cvtsi64_si128((long long)halves), _mm_setzero_si128());
}
// The only packing instruction takes signed words.
MDIST_INLINE Halves shorten(Words words) {
    const __m128i extended = (__m128i)((Ints)(words << 16) >> 16);
    return (Halves)_mm_cvtsi128_si64(_mm_packs_epi32(extended, extended));
}
#else
MDIST_INLINE Words extend(Halves halves) {
    return __builtin_convertvector(halves, Words);
}
MDIST_INLINE Halves shorten(Words words) {
    return __builtin_convertvector(words, Halves);
}
#endif

// Comparing gives all bits for true.
struct Bool {
    using Element = uint8_t;
    using Value = uint8_t;
    static MDIST_INLINE Vector<uint8_t> load(const char *from) {
        return (Vector<uint8_t>)(load_bytes<Vector<uint8_t>>(from) != 0) & 1;
    }
    static MDIST_INLINE Vector<uint8_t> pack(Vector<uint8_t> value) { return value; }
};

struct Bfloat16 {
    using Element = uint16_t;
    using Value = float;
    static MDIST_INLINE Floats load(const char *from) { return (Floats)(extend(load_bytes<Halves>(from)) << 16); }
    static MDIST_INLINE Halves pack(Floats value) {
        const Words bits = (Words)value;
        const Words rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        return shorten(value == value ? rounded : all<uint32_t>(0x7fc0));
    }
};

struct Float16 {
    using Element = uint16_t;
    using Value = float;
#if MDIST_REDUCE_BYTES > 16
    static MDIST_INLINE Floats load(const char *from) {
        Floats value = widened(load_bytes<Halves>(from));
        // Hides where the value is from: clang would compare halves instead, which it can do only one by one.
        __asm__("" : "+v"(value));
        return value;
    }
    static MDIST_INLINE Halves pack(Floats value) {
        return narrowed(value == value ? value : (Floats)all(BitsOf<float>::kNan));
    }
#endif
#if MDIST_REDUCE_BYTES == 64
    static MDIST_INLINE Floats widened(Halves half) {
        return (Floats)_mm512_maskz_cvtph_ps(0xffff, (__m256i)half);
    }
    static MDIST_INLINE Halves narrowed(Floats value) {
        constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        return (Halves)_mm512_maskz_cvtps_ph(0xffff, (__m512)value, nearest);
    }
#elif MDIST_REDUCE_BYTES == 32
    static MDIST_INLINE Floats widened(Halves half) {
        return (Floats)_mm256_cvtph_ps((__m128i)half);
    }
    static MDIST_INLINE Halves narrowed(Floats value) {
        return (Halves)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT);
    }
#else
    // Exponents move by 127 - 15 = 112. Subnormal halves get an exponent that is one too large and a leading one that
    // was not there; subtracting 2^-14 takes both back, exactly, and never meets a subnormal float.
    static MDIST_INLINE Floats load(const char *from) {
        const Words half = extend(load_bytes<Halves>(from));
        const Words magnitude = (half & 0x7fff) << 13;
        const Words subnormal = (Words)((Floats)(magnitude + (113u << 23)) - 0x1p-14f);
        Words bits = (Ints)magnitude < 1 << 23 ? subnormal : magnitude + (112u << 23);
        bits = (Ints)magnitude < 31 << 23 ? bits : magnitude | 0x7f800000;
        return (Floats)(bits | (half & 0x8000) << 16);
    }
    // Below 2^-14, adding 0.5 leaves the multiple of 2^-24 (an ulp of 0.5) in the low bits, rounded by the addition.
    // From 65520 on, rounding leads to infinity. Magnitudes are compared as signed: SSE2 has no other comparison.
    static MDIST_INLINE Halves pack(Floats value) {
        const Words magnitude = (Words)value & 0x7fffffff;
        const Words subnormal = (Words)((Floats)magnitude + 0.5f) - 0x3f000000;
        const Words normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
        Words bits = (Ints)magnitude < 0x38800000 ? subnormal : normal;
        bits = (Ints)magnitude < 0x477ff000 ? bits : all<uint32_t>(0x7c00);
        bits |= (Words)value >> 16 & 0x8000;
        return shorten(value == value ? bits : all<uint32_t>(0x7e00));
    }
#endif
};

} // namespace
} // namespace mdist::reduce
