// SPDX-License-Identifier: Apache-2.0
// The scalar twin against expectations that are written out or found by another method.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Its header does not say so itself.
extern "C" {
#include <cmocka.h>
}

#include <mdist/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "random.h"
#include "reduce_reference.h"
#include "subject.h"

namespace {

using mdist::reduce::Op;

template <typename T>
T reduce_values(int32_t dtype, Op op, const std::vector<T> &values, uint64_t divisor = 1) {
    std::vector<const void *> sources;
    for (const T &value : values) sources.push_back(&value);
    T result;
    void *const destinations[] = {&result};
    mdist::reduce::reduce_reference({dtype, op, divisor}, sources.data(), sources.size(), destinations, 1, 1);
    return result;
}

template <typename Bits, typename T>
Bits bits_of(T value) {
    static_assert(sizeof(Bits) == sizeof(T));
    Bits bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

float float_of_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Values of very different sizes: another order of the sum shows.
template <typename T>
std::vector<T> uneven_values(std::mt19937_64 &random) {
    std::vector<T> values;
    for (int i = 0; i < 9; ++i) {
        const T mantissa = static_cast<T>(static_cast<int64_t>(random())) * static_cast<T>(0x1p-63);
        values.push_back(std::ldexp(mantissa, static_cast<int>(random() % 8)));
    }
    return values;
}

template <typename T, typename Combine>
void check_trees(int32_t dtype, Op op, Combine f) {
    std::mt19937_64 random(test_seed(977));
    for (int round = 0; round < 2000; ++round) {
        const std::vector<T> v = uneven_values<T>(random);
        const T a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], g = v[5], h = v[6], i = v[7], j = v[8];
        const T expected[] = {
            a,
            f(a, b),
            f(f(a, b), c),
            f(f(a, b), f(c, d)),
            f(f(f(a, b), f(c, d)), e),
            f(f(f(a, b), f(c, d)), f(e, g)),
            f(f(f(a, b), f(c, d)), f(f(e, g), h)),
            f(f(f(a, b), f(c, d)), f(f(e, g), f(h, i))),
            f(f(f(f(a, b), f(c, d)), f(f(e, g), f(h, i))), j),
        };
        for (std::size_t n = 1; n <= 9; ++n) {
            const T found = reduce_values<T>(dtype, op, {v.begin(), v.begin() + n});
            if (std::memcmp(&found, &expected[n - 1], sizeof found) != 0)
                fail_msg("op %d over %zu sources is %a, not %a (round %d)", static_cast<int>(op), n,
                         static_cast<double>(found), static_cast<double>(expected[n - 1]), round);
        }
    }
}

void one_to_nine_sources_follow_the_tree_written_out(void **) {
    check_trees<float>(MDIST_FLOAT32, Op::kSum, [](float a, float b) { return a + b; });
    check_trees<float>(MDIST_FLOAT32, Op::kProd, [](float a, float b) { return a * b; });
    check_trees<double>(MDIST_FLOAT64, Op::kSum, [](double a, double b) { return a + b; });
    check_trees<double>(MDIST_FLOAT64, Op::kProd, [](double a, double b) { return a * b; });
    check_trees<float>(MDIST_FLOAT32, Op::kMin, [](float a, float b) { return std::min(a, b); });
    check_trees<double>(MDIST_FLOAT64, Op::kMax, [](double a, double b) { return std::max(a, b); });
}

// All values of a 16-bit format from zero to infinity, in the order of their bits. Infinity stands for the value that
// would follow the largest, as rounding sees it.
struct Format {
    int32_t dtype;
    uint16_t nan;
    std::vector<double> values;

    Format(int32_t dtype_, uint16_t nan_, int exponent_bits, int fraction_bits) : dtype(dtype_), nan(nan_) {
        const int bias = (1 << (exponent_bits - 1)) - 1;
        const int steps = 1 << fraction_bits;
        double ulp = std::pow(2.0, 1 - bias - fraction_bits);
        double value = 0;
        for (int exponent = 0; exponent < (1 << exponent_bits) - 1; ++exponent) {
            if (exponent > 1) ulp *= 2;
            for (int i = 0; i < steps; ++i, value += ulp) values.push_back(value);
        }
        values.push_back(value);
    }

    double decode(uint16_t bits) const {
        const std::size_t magnitude = bits & 0x7fff;
        double value = std::numeric_limits<double>::quiet_NaN();
        if (magnitude < values.size()) value = values[magnitude];
        if (magnitude == values.size() - 1) value = std::numeric_limits<double>::infinity();
        return bits & 0x8000 ? -value : value;
    }

    uint16_t nearest(double value) const {
        if (std::isnan(value)) return nan;
        const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
        const double magnitude = std::min(std::fabs(value), values.back());
        const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
        std::size_t index = above - values.begin();
        if (*above != magnitude) {
            const double down = magnitude - above[-1], up = *above - magnitude;
            if (down < up || (down == up && index % 2 == 1)) --index;
        }
        return static_cast<uint16_t>(sign | index);
    }
};

const Format &half_format() {
    static const Format format(MDIST_FLOAT16, 0x7e00, 5, 10);
    return format;
}

const Format &bfloat_format() {
    static const Format format(MDIST_BFLOAT16, 0x7fc0, 8, 7);
    return format;
}

void sixteen_bit_types_round_once_from_float32(void **) {
    std::mt19937_64 random(test_seed(977));
    for (const Format *format : {&half_format(), &bfloat_format()}) {
        for (uint32_t all = 0; all < 0x10000; ++all) {
            const auto bits = static_cast<uint16_t>(all);
            const double value = format->decode(bits);
            const auto same = reduce_values<uint16_t>(format->dtype, Op::kSum, {bits});
            assert_int_equal(same, std::isnan(value) ? format->nan : bits);
            // A third of it has more digits than the type: this rounds.
            const auto third = reduce_values<uint16_t>(format->dtype, Op::kMean, {bits}, 3);
            assert_int_equal(third, format->nearest(static_cast<float>(value) / 3));
        }
        for (int round = 0; round < 300000; ++round) {
            std::vector<uint16_t> bits;
            for (int i = 0; i < 3; ++i) bits.push_back(static_cast<uint16_t>(random()));
            // Close to one another, so that the smaller ones count.
            if (round % 2) bits[1] = static_cast<uint16_t>(bits[0] + random() % 4096), bits[2] = bits[0] ^ 0x8001;
            float v[3];
            for (int i = 0; i < 3; ++i) v[i] = static_cast<float>(format->decode(bits[i]));
            const auto sum = reduce_values(format->dtype, Op::kSum, bits);
            const auto product = reduce_values(format->dtype, Op::kProd, bits);
            const auto mean = reduce_values(format->dtype, Op::kMean, bits, 3);
            assert_int_equal(sum, format->nearest((v[0] + v[1]) + v[2]));
            assert_int_equal(product, format->nearest((v[0] * v[1]) * v[2]));
            assert_int_equal(mean, format->nearest(((v[0] + v[1]) + v[2]) / 3));
        }
    }
}

void the_compilers_own_float16_agrees(void **) {
#if defined(__FLT16_MAX__) && !defined(__clang__)
#ifdef __aarch64__
    using Half = __fp16; // g++ 12 has no other name there
#else
    using Half = _Float16;
#endif
    std::mt19937_64 random(test_seed(977));
    for (int round = 0; round < 300000; ++round) {
        const auto a = static_cast<uint16_t>(random()), b = static_cast<uint16_t>(a + random() % 8192);
        Half x, y;
        std::memcpy(&x, &a, sizeof x);
        std::memcpy(&y, &b, sizeof y);
        const Half sum = static_cast<Half>(static_cast<float>(x) + static_cast<float>(y));
        const auto found = reduce_values<uint16_t>(MDIST_FLOAT16, Op::kSum, {a, b});
        assert_int_equal(found, std::isnan(static_cast<float>(sum)) ? 0x7e00 : bits_of<uint16_t>(sum));
    }
#else
    skip();
#endif
}

void every_nan_is_the_canonical_one(void **) {
    const float strange = float_of_bits(0xffc12345);
    const float infinity = std::numeric_limits<float>::infinity();
    for (Op op : {Op::kSum, Op::kMean, Op::kMin, Op::kMax, Op::kProd}) {
        assert_int_equal(bits_of<uint32_t>(reduce_values<float>(MDIST_FLOAT32, op, {strange})), 0x7fc00000);
        assert_int_equal(bits_of<uint32_t>(reduce_values<float>(MDIST_FLOAT32, op, {strange, 1})), 0x7fc00000);
        assert_int_equal(bits_of<uint32_t>(reduce_values<float>(MDIST_FLOAT32, op, {1, strange, 2})), 0x7fc00000);
        assert_int_equal(reduce_values<uint16_t>(MDIST_FLOAT16, op, {0xfc01, 0x3c00}), 0x7e00);
        assert_int_equal(reduce_values<uint16_t>(MDIST_BFLOAT16, op, {0x3f80, 0xff81}), 0x7fc0);
        const double quiet = reduce_values<double>(MDIST_FLOAT64, op, {1, -std::nan("77")});
        assert_true(bits_of<uint64_t>(quiet) == 0x7ff8000000000000);
    }
    const float invalid = reduce_values<float>(MDIST_FLOAT32, Op::kSum, {infinity, -infinity});
    assert_int_equal(bits_of<uint32_t>(invalid), 0x7fc00000);
}

void minus_zero_is_less_than_zero(void **) {
    for (const auto &zeros : {std::vector<float>{0, -0.0f}, std::vector<float>{-0.0f, 0}}) {
        assert_true(std::signbit(reduce_values(MDIST_FLOAT32, Op::kMin, zeros)));
        assert_false(std::signbit(reduce_values(MDIST_FLOAT32, Op::kMax, zeros)));
    }
    assert_int_equal(reduce_values<uint16_t>(MDIST_FLOAT16, Op::kMin, {0, 0x8000}), 0x8000);
    assert_int_equal(reduce_values<uint16_t>(MDIST_BFLOAT16, Op::kMax, {0x8000, 0}), 0);
}

void integers_wrap_around(void **) {
    assert_int_equal(reduce_values<int8_t>(MDIST_INT8, Op::kSum, {127, 1}), -128);
    assert_int_equal(reduce_values<int8_t>(MDIST_INT8, Op::kProd, {100, 100}), 16);
    assert_int_equal(reduce_values<uint8_t>(MDIST_UINT8, Op::kSum, {200, 100}), 44);
    assert_int_equal(reduce_values<int32_t>(MDIST_INT32, Op::kSum, {INT32_MIN, -1}), INT32_MAX);
    assert_int_equal(reduce_values<uint32_t>(MDIST_UINT32, Op::kProd, {0x10001, 0x10001}), 0x20001);
    assert_true(reduce_values<int64_t>(MDIST_INT64, Op::kSum, {INT64_MAX, 1}) == INT64_MIN);
    assert_true(reduce_values<uint64_t>(MDIST_UINT64, Op::kProd, {1ull << 63, 2}) == 0);
}

void order_is_that_of_the_sign(void **) {
    assert_int_equal(reduce_values<int8_t>(MDIST_INT8, Op::kMin, {1, -1}), -1);
    assert_int_equal(reduce_values<uint8_t>(MDIST_UINT8, Op::kMin, {1, 255}), 1);
    assert_int_equal(reduce_values<int32_t>(MDIST_INT32, Op::kMax, {-5, -7, -6}), -5);
    assert_true(reduce_values<uint64_t>(MDIST_UINT64, Op::kMax, {1, 1ull << 63}) == 1ull << 63);
    assert_true(reduce_values<int64_t>(MDIST_INT64, Op::kMax, {1, INT64_MIN}) == 1);
    assert_int_equal(reduce_values<uint16_t>(MDIST_FLOAT16, Op::kMin, {0x3c00, 0xfc00}), 0xfc00);
}

void mean_divides_once_by_the_divisor(void **) {
    assert_true(reduce_values<float>(MDIST_FLOAT32, Op::kMean, {1, 2, 4}, 3) == 7.0f / 3.0f);
    assert_true(reduce_values<double>(MDIST_FLOAT64, Op::kMean, {1, 2}, 10) == 3.0 / 10.0);
    assert_true(reduce_values<float>(MDIST_FLOAT32, Op::kMean, {5}, 4) == 1.25f);
}

} // namespace

SUBJECT(reduce_reference) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_to_nine_sources_follow_the_tree_written_out),
        cmocka_unit_test(sixteen_bit_types_round_once_from_float32),
        cmocka_unit_test(the_compilers_own_float16_agrees),
        cmocka_unit_test(every_nan_is_the_canonical_one),
        cmocka_unit_test(minus_zero_is_less_than_zero),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(order_is_that_of_the_sign),
        cmocka_unit_test(mean_divides_once_by_the_divisor),
    };
    return cmocka_run_group_tests_name("reduce reference", tests, nullptr, nullptr);
}
