// SPDX-License-Identifier: Apache-2.0
#include "reduce/arithmetic.h"

#include "reduce/elements.h"
#include "reduce/reduce.h"
#include "util/dtype.h"

#include <mdist/variable.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

namespace mdist::reduce {
namespace {

template <typename T>
void store(void *data, std::size_t i, T value) {
    std::memcpy(static_cast<char *>(data) + i * sizeof(T), &value, sizeof(T));
}

/// Negates: two's complement for integers (signed ones by their bits), the sign bit for floating-point types. Adding
/// the result gives exactly what subtracting would give.
template <typename Bits>
void negate(bool integer, const void *from, Bits *to, std::size_t elements) {
    constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    for (std::size_t i = 0; i < elements; ++i) {
        const Bits bits = load<Bits>(from, i);
        to[i] = integer ? static_cast<Bits>(Bits{0} - bits) : static_cast<Bits>(bits ^ kSign);
    }
}

template <typename Bits>
void subtract_bits(int32_t dtype, char *to, const char *from, std::size_t elements) {
    constexpr std::size_t kBlock = 1024 / sizeof(Bits);
    Bits negative[kBlock];
    for (std::size_t begin = 0; begin < elements; begin += kBlock) {
        const std::size_t count = std::min(kBlock, elements - begin);
        negate<Bits>(dtype_is_integer(dtype), from + begin * sizeof(Bits), negative, count);
        const void *sources[] = {to + begin * sizeof(Bits), negative};
        void *destination = to + begin * sizeof(Bits);
        reduce({dtype, Op::kSum, 1}, sources, 2, &destination, 1, count);
    }
}

template <typename T>
void divide_integers(void *to, uint64_t divisor, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
        const T value = load<T>(to, i);
        if (divisor <= static_cast<uint64_t>(std::numeric_limits<T>::max())) {
            store<T>(to, i, static_cast<T>(value / static_cast<T>(divisor)));
        } else {
            // The divisor is larger than any value, except that the least value can be its negative.
            const bool least =
                std::is_signed_v<T> && value < 0 && uint64_t{0} - static_cast<uint64_t>(value) == divisor;
            store<T>(to, i, least ? static_cast<T>(-1) : T{0});
        }
    }
}

template <typename T>
void divide_reals(void *to, const void *from, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
        const T quotient = load<T>(to, i) / load<T>(from, i);
        store<T>(to, i, quotient != quotient ? std::numeric_limits<T>::quiet_NaN() : quotient);
    }
}

void divide_halves(void *to, const void *from, std::size_t elements, double (*widened)(uint16_t),
                   uint16_t (*narrowed)(double)) {
    for (std::size_t i = 0; i < elements; ++i) {
        const auto numerator = static_cast<float>(widened(load<uint16_t>(to, i)));
        const auto denominator = static_cast<float>(widened(load<uint16_t>(from, i)));
        store<uint16_t>(to, i, narrowed(static_cast<double>(numerator / denominator)));
    }
}

template <typename T>
void divide_integers_each(void *to, const void *from, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
        const T numerator = load<T>(to, i);
        const T denominator = load<T>(from, i);
        // The least value divided by -1 does not fit the type: it wraps around.
        const bool negates = std::is_signed_v<T> && denominator == static_cast<T>(-1);
        store<T>(to, i,
                 negates ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(numerator))
                         : static_cast<T>(numerator / denominator));
    }
}

bool is_zero(int32_t dtype, const char *element, std::size_t size) {
    for (std::size_t byte = 0; byte < size; ++byte) {
        const bool sign = byte + 1 == size && !dtype_is_integer(dtype);
        if ((static_cast<unsigned char>(element[byte]) & (sign ? 0x7f : 0xff)) != 0) return false;
    }
    return true;
}

void reduce_two(int32_t dtype, Op op, void *to, const void *from, std::size_t elements) {
    const void *sources[] = {to, from};
    reduce({dtype, op, 1}, sources, 2, &to, 1, elements);
}

} // namespace

void subtract(int32_t dtype, void *to, const void *from, std::size_t elements) {
    char *const out = static_cast<char *>(to);
    const char *const in = static_cast<const char *>(from);
    switch (dtype_size(dtype)) {
        case 1:
            return subtract_bits<uint8_t>(dtype, out, in, elements);
        case 2:
            return subtract_bits<uint16_t>(dtype, out, in, elements);
        case 4:
            return subtract_bits<uint32_t>(dtype, out, in, elements);
        default:
            return subtract_bits<uint64_t>(dtype, out, in, elements);
    }
}

void divide(int32_t dtype, void *to, uint64_t divisor, std::size_t elements) {
    if (!dtype_is_integer(dtype)) {
        const void *source = to;
        return reduce({dtype, Op::kMean, divisor}, &source, 1, &to, 1, elements);
    }
    with_type(dtype, [&](auto type) {
        using T = decltype(type);
        if constexpr (std::is_integral_v<T>) divide_integers<T>(to, divisor, elements);
    });
}

void divide_each(int32_t dtype, void *to, const void *from, std::size_t elements) {
    with_type(dtype, [&](auto type) {
        using T = decltype(type);
        if constexpr (std::is_floating_point_v<T>) divide_reals<T>(to, from, elements);
        if constexpr (std::is_same_v<T, Half>) divide_halves(to, from, elements, half_to_double, double_to_half);
        if constexpr (std::is_same_v<T, BrainFloat>)
            divide_halves(to, from, elements, bfloat16_to_double, double_to_bfloat16);
        if constexpr (std::is_integral_v<T>) divide_integers_each<T>(to, from, elements);
    });
}

double weighted_sum(int32_t dtype, const void *data, const void *weights, std::size_t share, std::size_t elements) {
    double sum = 0;
    for (std::size_t i = 0; i < elements; ++i) {
        const double weight = weights == nullptr ? 1 : load_real(dtype, weights, i / share);
        sum += load_real(dtype, data, i) * weight;
    }
    return sum;
}

bool any_zero(int32_t dtype, const void *data, std::size_t elements) {
    const std::size_t size = dtype_size(dtype);
    for (std::size_t i = 0; i < elements; ++i)
        if (is_zero(dtype, static_cast<const char *>(data) + i * size, size)) return true;
    return false;
}

void write_elements(int32_t dtype, int32_t assign, void *to, const void *from, std::size_t elements) {
    switch (assign) {
        case MDIST_ASSIGN_ADD:
            return reduce_two(dtype, Op::kSum, to, from, elements);
        case MDIST_ASSIGN_SUB:
            return subtract(dtype, to, from, elements);
        case MDIST_ASSIGN_MUL:
            return reduce_two(dtype, Op::kProd, to, from, elements);
        case MDIST_ASSIGN_DIV:
            return divide_each(dtype, to, from, elements);
        case MDIST_ASSIGN_MIN:
            return reduce_two(dtype, Op::kMin, to, from, elements);
        default:
            return reduce_two(dtype, Op::kMax, to, from, elements);
    }
}

} // namespace mdist::reduce
