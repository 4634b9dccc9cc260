// SPDX-License-Identifier: Apache-2.0
// Division, subtraction and the search for zeros, against arithmetic that is wide enough to be exact.
#include "mdist_test.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reduce/arithmetic.h"
#include "reduce/half.h"
#include "subject.h"

namespace {

using namespace mdist;

__extension__ typedef __int128 Wide;

constexpr uint64_t kDivisors[] = {1, 2, 3, 7, 64, 127, 128, 200, 255, 256, 1000, 65536, uint64_t{1} << 40};

template <typename T>
std::vector<T> whole_numbers(std::mt19937_64 &random) {
    std::vector<T> numbers = {0,
                              1,
                              std::numeric_limits<T>::max(),
                              std::numeric_limits<T>::min(),
                              static_cast<T>(std::numeric_limits<T>::min() + 1),
                              static_cast<T>(-1)};
    for (int i = 0; i < 1500; ++i) numbers.push_back(static_cast<T>(random()));
    return numbers;
}

template <typename T>
void check_whole(int32_t dtype) {
    std::mt19937_64 random(test_seed(0) + static_cast<uint64_t>(dtype));
    const std::vector<T> numbers = whole_numbers<T>(random);
    for (const uint64_t divisor : kDivisors) {
        std::vector<T> quotients = numbers;
        reduce::divide(dtype, quotients.data(), divisor, quotients.size());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            assert_true(static_cast<Wide>(quotients[i]) == static_cast<Wide>(numbers[i]) / static_cast<Wide>(divisor));
    }
    std::vector<T> left = numbers;
    std::vector<T> right(numbers.rbegin(), numbers.rend());
    reduce::subtract(dtype, left.data(), right.data(), left.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
        assert_true(left[i] == static_cast<T>(static_cast<uint64_t>(numbers[i]) - static_cast<uint64_t>(right[i])));
    left = numbers;
    reduce::subtract(dtype, left.data(), left.data(), left.size()); // from itself
    assert_true(std::all_of(left.begin(), left.end(), [](T each) { return each == 0; }));
}

void integers_divide_towards_zero_and_wrap(void **) {
    check_whole<int8_t>(MDIST_INT8);
    check_whole<uint8_t>(MDIST_UINT8);
    check_whole<int32_t>(MDIST_INT32);
    check_whole<uint32_t>(MDIST_UINT32);
    check_whole<int64_t>(MDIST_INT64);
    check_whole<uint64_t>(MDIST_UINT64);
}

void every_16_bit_float_divides_with_one_rounding(void **) {
    for (const uint64_t divisor : {1u, 2u, 3u, 4u, 7u, 9u}) {
        std::vector<uint16_t> halves(65536);
        for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
        std::vector<uint16_t> brains = halves;
        reduce::divide(MDIST_FLOAT16, halves.data(), divisor, halves.size());
        reduce::divide(MDIST_BFLOAT16, brains.data(), divisor, brains.size());
        for (std::size_t i = 0; i < halves.size(); ++i) {
            const auto bits = static_cast<uint16_t>(i);
            const float half = static_cast<float>(reduce::half_to_double(bits)) / static_cast<float>(divisor);
            const float brain = static_cast<float>(reduce::bfloat16_to_double(bits)) / static_cast<float>(divisor);
            assert_int_equal(halves[i], reduce::double_to_half(static_cast<double>(half)));
            assert_int_equal(brains[i], reduce::double_to_bfloat16(static_cast<double>(brain)));
        }
    }
}

void zeros_of_both_signs_are_zeros_and_nothing_else_is(void **) {
    for (const float zero : {0.0f, -0.0f}) {
        const float numbers[] = {1.0f, zero, 2.0f};
        assert_true(reduce::any_zero(MDIST_FLOAT32, numbers, 3));
    }
    assert_false(reduce::any_zero(MDIST_FLOAT32, nullptr, 0));
    for (int bit = 0; bit < 31; ++bit) {
        const uint32_t bits[] = {uint32_t{1} << bit, 0x80000000 | uint32_t{1} << bit};
        assert_false(reduce::any_zero(MDIST_FLOAT32, bits, 2));
    }
    const uint16_t sixteen[] = {0x8000};
    assert_true(reduce::any_zero(MDIST_FLOAT16, sixteen, 1));
    assert_true(reduce::any_zero(MDIST_BFLOAT16, sixteen, 1));
    const uint64_t wide[] = {uint64_t{1} << 63};
    assert_true(reduce::any_zero(MDIST_FLOAT64, wide, 1));
    assert_false(reduce::any_zero(MDIST_INT64, wide, 1));
    assert_true(reduce::any_zero(MDIST_INT8, wide, 8));
}

} // namespace

SUBJECT(reduce_arithmetic) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(integers_divide_towards_zero_and_wrap),
        cmocka_unit_test(every_16_bit_float_divides_with_one_rounding),
        cmocka_unit_test(zeros_of_both_signs_are_zeros_and_nothing_else_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
