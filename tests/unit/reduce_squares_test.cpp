// SPDX-License-Identifier: Apache-2.0
// Sums of squares and scaling: every variant gives the bits of the scalar twin, and the twin those of plain loops.
#include "mdist_test.h"

#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "reduce/variants.h"
#include "reduce_reference.h"
#include "reduce_support.h"
#include "subject.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using namespace mdist;
using reduce::InstructionSet;

constexpr InstructionSet kSets[] = {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512};
constexpr int32_t kTypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16};
constexpr std::size_t kLengths[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 4099};

/// NaNs aside, whose payload nobody promises.
bool same(double a, double b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

/// Elements at an address that is not aligned; any, or such that their sum tells.
struct Elements {
    Elements(Random &random, int32_t dtype, std::size_t count, bool any) : bytes(count * dtype_size(dtype) + 1) {
        for (std::size_t i = 0; i < count; ++i) {
            char *const element = data() + i * dtype_size(dtype);
            do {
                fill_element(random, dtype, reinterpret_cast<unsigned char *>(element));
            } while (!any && !(reduce::sum_of_squares_reference(dtype, element, 1) < 4));
        }
    }
    char *data() { return bytes.data() + 1; }
    std::vector<char> bytes;
};

void squares_have_the_same_bits_in_every_variant(void **) {
    Random random(test_seed(1));
    const reduce::FloatEnvironment environment;
    for (const int32_t dtype : kTypes) {
        for (const std::size_t length : kLengths) {
            for (int again = 0; again < 8; ++again) {
                Elements elements(random, dtype, length, again % 2 == 0);
                const double wanted = reduce::sum_of_squares_reference(dtype, elements.data(), length);
                assert_true(same(reduce::sum_of_squares(dtype, elements.data(), length), wanted));
                for (const InstructionSet set : kSets)
                    if (reduce::available(set))
                        assert_true(same(reduce::sum_of_squares(dtype, elements.data(), length, set), wanted));
            }
        }
    }
}

void squares_are_those_of_a_plain_loop(void **) {
    Random random(test_seed(2));
    for (const std::size_t length : kLengths) {
        std::vector<float> values(length);
        double sum = 0;
        for (float &value : values) {
            value = static_cast<float>(static_cast<int64_t>(random())) * 0x1p-63f;
            sum += static_cast<double>(value) * static_cast<double>(value);
        }
        assert_true(std::fabs(reduce::sum_of_squares(MDIST_FLOAT32, values.data(), length) - sum) <= 1e-14 * sum);
    }
    const uint16_t halves[] = {0x4000, 0xc200, 0x0001};  // 2, -3, 2^-24
    const uint16_t bfloats[] = {0x4000, 0xc040, 0x3f00}; // 2, -3, 0.5
    const double doubles[] = {3, -4, 1e-200};
    assert_true(reduce::sum_of_squares(MDIST_FLOAT16, halves, 3) == 13 + 0x1p-48);
    assert_true(reduce::sum_of_squares(MDIST_BFLOAT16, bfloats, 3) == 13.25);
    assert_true(reduce::sum_of_squares(MDIST_FLOAT64, doubles, 3) == 25);
}

void one_element_that_is_not_finite_shows(void **) {
    for (std::size_t length = 1; length < 70; ++length) {
        for (std::size_t at = 0; at < length; at += 3) {
            std::vector<float> values(length, 1);
            values[at] = std::numeric_limits<float>::infinity();
            assert_true(std::isinf(reduce::sum_of_squares(MDIST_FLOAT32, values.data(), length)));
            values[at] = std::numeric_limits<float>::quiet_NaN();
            assert_true(std::isnan(reduce::sum_of_squares(MDIST_FLOAT32, values.data(), length)));
        }
    }
}

void scaling_has_the_same_bits_in_every_variant(void **) {
    Random random(test_seed(3));
    const reduce::FloatEnvironment environment;
    for (const int32_t dtype : kTypes) {
        for (const std::size_t length : kLengths) {
            for (const double factor : {0.3, 1.0, 1e-30, 0.0}) {
                Elements wanted(random, dtype, length, true);
                Elements best = wanted;
                std::vector<Elements> given(3, wanted);
                reduce::scale_reference(dtype, wanted.data(), factor, length);
                reduce::scale(dtype, best.data(), factor, length);
                assert_true(best.bytes == wanted.bytes);
                for (std::size_t set = 0; set < 3; ++set) {
                    if (!reduce::available(kSets[set])) continue;
                    reduce::scale(dtype, given[set].data(), factor, length, kSets[set]);
                    assert_true(given[set].bytes == wanted.bytes);
                }
            }
        }
    }
}

void scaling_is_one_multiplication(void **) {
    float single = 3;
    double twice = 7;
    uint16_t half = 0x4200;   // 3
    uint16_t bfloat = 0x4040; // 3
    reduce::scale(MDIST_FLOAT32, &single, 0.1, 1);
    reduce::scale(MDIST_FLOAT64, &twice, 0.1, 1);
    reduce::scale(MDIST_FLOAT16, &half, 0.5, 1);
    reduce::scale(MDIST_BFLOAT16, &bfloat, 0.5, 1);
    assert_true(single == 3 * 0.1f);
    assert_true(twice == 7 * 0.1);
    assert_int_equal(half, 0x3e00);
    assert_int_equal(bfloat, 0x3fc0);
}

} // namespace

SUBJECT(reduce_squares) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(squares_have_the_same_bits_in_every_variant),
        cmocka_unit_test(squares_are_those_of_a_plain_loop),
        cmocka_unit_test(one_element_that_is_not_finite_shows),
        cmocka_unit_test(scaling_has_the_same_bits_in_every_variant),
        cmocka_unit_test(scaling_is_one_multiplication),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
