// SPDX-License-Identifier: Apache-2.0
// Shuffling: even, and a function of the seed and of how often.
#include "data/random.h"
#include "data_support.h"
#include "subject.h"

namespace {

std::vector<int64_t> order(const std::shared_ptr<const Dataset> &dataset) {
    return flat(items(dataset));
}

void every_element_comes_once(void **) {
    for (const uint64_t buffer : {1, 2, 7, 100, 1000}) {
        std::vector<int64_t> got = order(make_shuffle(numbers(100), buffer, buffer, true));
        if (buffer == 1) assert_true(std::is_sorted(got.begin(), got.end()));
        // An element cannot come before the buffer has reached it.
        for (std::size_t i = 0; i < got.size(); ++i) assert_true(got[i] < static_cast<int64_t>(i + buffer));
        std::sort(got.begin(), got.end());
        assert_true(got == order(numbers(100)));
    }
}

void a_full_buffer_gives_each_place_to_each_element_equally_often(void **) {
    constexpr int kElements = 8;
    constexpr int kRounds = 16000;
    double seen[kElements][kElements] = {};
    Iterator iterator(make_repeat(make_shuffle(numbers(kElements), kElements, 12345, true), kRounds));
    const std::vector<int64_t> all = flat(items(iterator));
    for (std::size_t i = 0; i < all.size(); ++i) ++seen[i % kElements][all[i]];
    double chi = 0;
    for (const auto &place : seen)
        for (const double count : place) chi += (count - kRounds / 8.0) * (count - kRounds / 8.0) / (kRounds / 8.0);
    assert_true(chi < 85.4); // 49 degrees of freedom, 0.1 %
}

void bounded_numbers_are_even_for_bounds_that_do_not_divide(void **) {
    for (const uint64_t bound : {1, 3, 10, 13}) {
        Random random{9, bound};
        std::vector<double> seen(bound);
        for (int i = 0; i < 100000; ++i) ++seen[random.below(bound)];
        double chi = 0;
        const double mean = 100000.0 / static_cast<double>(bound);
        for (const double count : seen) chi += (count - mean) * (count - mean) / mean;
        assert_true(chi < 34); // 12 degrees of freedom at most, 0.1 %
    }
    Random random{1};
    int high = 0; // of 3 * 2^62 possible numbers a third are 2^63 or more; a modulo would make it a half or a quarter
    for (int i = 0; i < 30000; ++i) high += random.below(uint64_t{3} << 62) >= uint64_t{1} << 63;
    assert_in_range(high, 9700, 10300);
}

void a_seed_is_an_order_for_ever(void **) {
    assert_true(order(make_shuffle(numbers(50), 20, 7, true)) == order(make_shuffle(numbers(50), 20, 7, true)));
    assert_true(order(make_shuffle(numbers(50), 20, 7, true)) != order(make_shuffle(numbers(50), 20, 8, true)));
    // Written down when this was made: a change here changes what users' seeds mean.
    const std::vector<int64_t> pinned = {0, 5, 2, 7, 6, 8, 3, 9, 4, 1};
    assert_true(order(make_shuffle(numbers(10), 10, 2026, false)) == pinned);
}

void reshuffling_changes_the_order_each_time_and_can_be_repeated(void **) {
    std::vector<std::vector<int64_t>> first;
    for (int program = 0; program < 2; ++program) {
        const auto twice = make_repeat(make_shuffle(numbers(30), 30, 5, true), 2);
        std::vector<std::vector<int64_t>> orders;
        for (int i = 0; i < 3; ++i) {
            const std::vector<int64_t> both = order(twice);
            orders.emplace_back(both.begin(), both.begin() + 30);
            orders.emplace_back(both.begin() + 30, both.end());
        }
        for (std::size_t i = 0; i < orders.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) assert_true(orders[i] != orders[j]);
        if (program == 0) first = orders;
        assert_true(orders == first);
    }
}

void without_reshuffling_the_order_stays(void **) {
    const auto dataset = make_repeat(make_shuffle(numbers(30), 30, 5, false), 2);
    const std::vector<int64_t> both = order(dataset);
    assert_true(std::equal(both.begin(), both.begin() + 30, both.begin() + 30));
    assert_true(order(dataset) == both);
}

void an_abandoned_prefetch_does_not_change_what_comes_after(void **) {
    std::vector<int64_t> first;
    for (int i = 0; i < 20; ++i) {
        const auto dataset = make_prefetch(make_repeat(make_shuffle(numbers(10), 10, 5, true), MDIST_FOREVER), 50);
        items(dataset, 1 + static_cast<std::size_t>(i));
        const std::vector<int64_t> second = flat(items(dataset, 25));
        if (i == 0) first = second;
        assert_true(second == first);
    }
}

} // namespace

SUBJECT(data_shuffle) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_element_comes_once),
        cmocka_unit_test(a_full_buffer_gives_each_place_to_each_element_equally_often),
        cmocka_unit_test(bounded_numbers_are_even_for_bounds_that_do_not_divide),
        cmocka_unit_test(a_seed_is_an_order_for_ever),
        cmocka_unit_test(reshuffling_changes_the_order_each_time_and_can_be_repeated),
        cmocka_unit_test(without_reshuffling_the_order_stays),
        cmocka_unit_test(an_abandoned_prefetch_does_not_change_what_comes_after),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
