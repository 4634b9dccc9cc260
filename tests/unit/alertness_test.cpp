// SPDX-License-Identifier: Apache-2.0
// Waits that stay awake at first: only as often as it pays.
#include "util/alertness.h"
#include "subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {

using mdist::Alertness;

constexpr uint64_t kAwakeNs = 50'000;
constexpr uint64_t kNoLimit = UINT64_MAX;

/// A machine whose time passes only by looking, and while others have the core.
class Machine final : public mdist::Clock {
  public:
    uint64_t now_ns() const override { return now; }
    static void give_away() { machine.now += machine.away_ns; }

    uint64_t now = 1;
    uint64_t look_ns = 1000;
    uint64_t away_ns = 500; // how long others have the core that they are given
    static Machine machine;
};
Machine Machine::machine;
Machine &machine = Machine::machine;

Alertness begin(uint64_t awake_ns = kAwakeNs) {
    machine = Machine();
    return Alertness(awake_ns, machine, Machine::give_away);
}

constexpr int kNever = 1000000;

/// Waits once for something that the `due`-th look finds. Returns how often the wait has looked; 0: it sleeps at once.
int looks_of(Alertness &alertness, int due, uint64_t timeout_ns = kNoLimit) {
    int looked = 0;
    const bool found = alertness.look(timeout_ns, [&] {
        machine.now += machine.look_ns;
        return ++looked == due;
    });
    assert_true(found == (looked == due));
    return looked;
}

/// How many of `waits` stay awake.
int awake(Alertness &alertness, int waits, int due) {
    int count = 0;
    for (int i = 0; i < waits; ++i) count += looks_of(alertness, due) != 0;
    return count;
}

void waits_that_find_something_stay_awake(void **) {
    Alertness alertness = begin();
    assert_int_equal(awake(alertness, 1000, 3), 1000);
}

void a_link_without_cores_to_spare_never_does(void **) {
    Alertness alertness = begin(0);
    assert_int_equal(awake(alertness, 10, 1), 0);
}

void mates_that_give_the_core_back_soon_do_no_harm(void **) {
    Alertness alertness = begin();
    machine.away_ns = 40'000;
    assert_int_equal(awake(alertness, 1000, 10), 1000);
}

void a_wait_for_nothing_ends_after_its_own_time_awake(void **) {
    Alertness alertness = begin();
    machine.away_ns = 10'000; // not its own
    assert_int_equal(looks_of(alertness, kNever), 51); // a look of 1 us after each of 50
}

void waits_for_nothing_are_made_good_by_others_that_sleep(void **) {
    Alertness alertness = begin();
    for (int i = 0; i < 10; ++i) assert_int_equal(awake(alertness, 26, kNever), 1); // 50 us, 2 us for each that sleeps
}

void a_core_that_is_taken_ends_the_wait_and_makes_many_sleep(void **) {
    Alertness alertness = begin();
    machine.away_ns = 4'000'000;
    assert_int_equal(looks_of(alertness, kNever), 2); // before the core was away, and after
    assert_int_equal(awake(alertness, 2000, 1), 0);   // 4 ms
    assert_int_equal(looks_of(alertness, 1), 1);
}

void so_does_one_that_is_away_for_long_in_all(void **) {
    Alertness alertness = begin();
    machine.away_ns = 400'000;
    assert_int_equal(looks_of(alertness, kNever), 6); // 2 ms
    assert_int_equal(awake(alertness, 1000, 1), 0);
    assert_int_equal(looks_of(alertness, 1), 1);
}

void a_taken_core_is_a_loss_even_if_the_wait_finds_something(void **) {
    Alertness alertness = begin();
    machine.away_ns = 4'000'000;
    assert_int_equal(looks_of(alertness, 2), 2);
    assert_int_equal(looks_of(alertness, 1), 0);
}

void what_waits_have_saved_outweighs_a_loss_now_and_then(void **) {
    Alertness alertness = begin();
    for (int round = 0; round < 10; ++round) {
        machine.away_ns = 500;
        assert_int_equal(awake(alertness, 100, 2), 100); // 30 us each
        machine.away_ns = 3'000'000;
        assert_int_equal(looks_of(alertness, 2), 2); // as much
    }
}

void savings_of_long_ago_do_not_pay_for_busy_times(void **) {
    Alertness alertness = begin();
    awake(alertness, 100000, 1);
    machine.away_ns = 4'000'000;
    assert_int_equal(looks_of(alertness, 2), 2);
    assert_int_equal(awake(alertness, 500, 1), 0); // 3 ms are saved at most
    assert_int_equal(looks_of(alertness, 1), 1);
}

void short_limits_say_nothing(void **) {
    Alertness alertness = begin();
    assert_int_equal(looks_of(alertness, kNever, 0), 1);
    assert_int_equal(looks_of(alertness, kNever, 5000), 5);
    assert_int_equal(awake(alertness, 10, 1), 10);
}

} // namespace

SUBJECT(alertness) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(waits_that_find_something_stay_awake),
        cmocka_unit_test(a_link_without_cores_to_spare_never_does),
        cmocka_unit_test(mates_that_give_the_core_back_soon_do_no_harm),
        cmocka_unit_test(a_wait_for_nothing_ends_after_its_own_time_awake),
        cmocka_unit_test(waits_for_nothing_are_made_good_by_others_that_sleep),
        cmocka_unit_test(a_core_that_is_taken_ends_the_wait_and_makes_many_sleep),
        cmocka_unit_test(so_does_one_that_is_away_for_long_in_all),
        cmocka_unit_test(a_taken_core_is_a_loss_even_if_the_wait_finds_something),
        cmocka_unit_test(what_waits_have_saved_outweighs_a_loss_now_and_then),
        cmocka_unit_test(savings_of_long_ago_do_not_pay_for_busy_times),
        cmocka_unit_test(short_limits_say_nothing),
    };
    return cmocka_run_group_tests_name("unit/alertness", tests, nullptr, nullptr);
}
