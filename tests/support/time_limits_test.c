// SPDX-License-Identifier: Apache-2.0
// Limits grow only while a healthy party is late, and end with the one that the healthy always keep.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "time_limits.h"

/// Tries from `first_ms` with `late` tries in which one is late. Returns how many tries there were; `limits` gets
/// theirs.
static uint32_t tries_of(uint64_t first_ms, uint32_t late, uint64_t limits[8], int *is_late) {
    Tries tries = {.what = "made up", .limit_ms = first_ms};
    uint32_t count = 0;
    while (another_try(&tries)) {
        limits[count++] = tries.limit_ms;
        tries.late = count <= late;
    }
    *is_late = tries.late;
    return count;
}

static void limits_are_five_times_as_long_and_end_with_the_long_one(void **state) {
    (void)state;
    uint64_t limits[8];
    int late;
    assert_int_equal(tries_of(300, 9, limits, &late), 4);
    static const uint64_t wanted[] = {300, 1500, 7500, LONG_ENOUGH_MS};
    assert_memory_equal(limits, wanted, sizeof wanted);
    assert_true(late);
    assert_int_equal(tries_of(2000, 9, limits, &late), 3);
    assert_int_equal(limits[1], 10000);
    assert_int_equal(limits[2], LONG_ENOUGH_MS);
}

static void who_is_in_time_ends_it(void **state) {
    (void)state;
    uint64_t limits[8];
    int late;
    assert_int_equal(tries_of(2000, 0, limits, &late), 1);
    assert_false(late);
    assert_int_equal(tries_of(2000, 2, limits, &late), 3);
    assert_false(late);
    assert_int_equal(tries_of(LONG_ENOUGH_MS, 1, limits, &late), 1);
    assert_true(late);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_five_times_as_long_and_end_with_the_long_one),
        cmocka_unit_test(who_is_in_time_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
