// SPDX-License-Identifier: Apache-2.0
// Waits that stay awake at first: only as often as it pays.
#include "util/alertness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {

using mdist::Alertness;

constexpr uint64_t kAwakeNs = 1; // over after the first look
constexpr uint64_t kNoLimit = UINT64_MAX;

long displaced = 0; // how often others have had the core

long times_displaced() {
    return displaced;
}

/// How many of `waits` looked at all, for something that is there or is not.
int looks(Alertness &alertness, int waits, bool there) {
    int looked = 0;
    for (int i = 0; i < waits; ++i) {
        bool asked = false;
        const bool found = alertness.look(kNoLimit, [&] { return asked = true, there; });
        assert_true(found == (asked && there));
        looked += asked;
    }
    return looked;
}

void waits_that_end_soon_stay_awake(void **) {
    Alertness alertness(kAwakeNs, times_displaced);
    assert_int_equal(looks(alertness, 1000, true), 1000);
}

void a_link_without_cores_to_spare_never_does(void **) {
    Alertness alertness(0, times_displaced);
    assert_int_equal(looks(alertness, 10, true), 0);
}

void waits_that_last_stay_awake_ever_more_rarely(void **) {
    Alertness alertness(kAwakeNs, times_displaced);
    assert_int_equal(looks(alertness, 2, false), 1);     // 1 sleeps at once
    assert_int_equal(looks(alertness, 3, false), 1);     // 2
    assert_int_equal(looks(alertness, 5, false), 1);     // 4
    assert_int_equal(looks(alertness, 100000, false), 7 + 97); // up to 1024, and so on
}

void one_that_pays_halves_the_doubt(void **) {
    Alertness alertness(kAwakeNs, times_displaced);
    looks(alertness, 2 + 3 + 5 + 9, false);
    assert_int_equal(looks(alertness, 2, true), 2);
    assert_int_equal(looks(alertness, 5, false), 1); // 4 again, not 16
}

void a_wait_that_lost_its_core_did_not_pay(void **) {
    Alertness alertness(kAwakeNs, times_displaced);
    assert_true(alertness.look(kNoLimit, [] { return ++displaced, true; }));
    assert_int_equal(looks(alertness, 2, true), 1);
}

void short_limits_say_nothing(void **) {
    Alertness alertness(UINT64_MAX, times_displaced);
    assert_false(alertness.look(0, [] { return false; }));
    assert_int_equal(looks(alertness, 10, true), 10);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(waits_that_end_soon_stay_awake),
        cmocka_unit_test(a_link_without_cores_to_spare_never_does),
        cmocka_unit_test(waits_that_last_stay_awake_ever_more_rarely),
        cmocka_unit_test(one_that_pays_halves_the_doubt),
        cmocka_unit_test(a_wait_that_lost_its_core_did_not_pay),
        cmocka_unit_test(short_limits_say_nothing),
    };
    return cmocka_run_group_tests_name("unit/alertness", tests, nullptr, nullptr);
}
