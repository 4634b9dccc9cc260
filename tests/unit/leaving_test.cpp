// SPDX-License-Identifier: Apache-2.0
// When a worker that was told to go still goes on: grace against a clock of our own.
#include "strategy/job/leaving.h"
#include "strategy/strategy.h"
#include "subject.h"

#include "cluster/config.h"
#include "mdist_test.h"

#include <mdist/membership.h>

using namespace mdist;

namespace {

struct HandClock final : Clock {
    uint64_t now_ns() const override { return now; }
    uint64_t now = 1000;
};

std::shared_ptr<Strategy> alone() {
    Config config;
    config.set("devices", "cpu", "test");
    return std::make_shared<Strategy>(config);
}

void expect(Leaving &leaving, int32_t verdict, uint32_t rank) {
    const Leaving::Answer answer = leaving.check(0);
    assert_int_equal(answer.verdict, verdict);
    assert_int_equal(answer.rank, rank);
}

void without_grace_the_next_check_is_the_end(void **) {
    HandClock clock;
    const auto strategy = alone();
    Leaving leaving(*strategy, clock);
    expect(leaving, MDIST_VERDICT_GO_ON, MDIST_NONE);
    leaving.announce(0);
    expect(leaving, MDIST_VERDICT_END, 0);
    expect(leaving, MDIST_VERDICT_END, 0);
}

void with_grace_it_is_saved_at_once_and_once_more_at_the_end(void **) {
    HandClock clock;
    const auto strategy = alone();
    Leaving leaving(*strategy, clock);
    for (int i = 0; i < 3; ++i, clock.now += 10) expect(leaving, MDIST_VERDICT_GO_ON, MDIST_NONE);
    leaving.announce(100);
    expect(leaving, MDIST_VERDICT_SAVE, 0); // 100 left, and a step takes 10
    const int32_t wanted[] = {MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON,
                              MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON,
                              MDIST_VERDICT_GO_ON, MDIST_VERDICT_END}; // at 80, 20 are left
    for (const int32_t verdict : wanted) {
        clock.now += 10;
        expect(leaving, verdict, 0);
    }
}

void a_slow_save_brings_the_end_nearer(void **) {
    HandClock clock;
    const auto strategy = alone();
    Leaving leaving(*strategy, clock);
    expect(leaving, MDIST_VERDICT_GO_ON, MDIST_NONE);
    leaving.announce(100);
    expect(leaving, MDIST_VERDICT_SAVE, 0);
    clock.now += 30; // the save
    expect(leaving, MDIST_VERDICT_GO_ON, 0);
    clock.now += 10; // 60 are left, and the longest took 30
    expect(leaving, MDIST_VERDICT_END, 0);
}

void only_the_first_announcement_counts(void **) {
    HandClock clock;
    const auto strategy = alone();
    Leaving leaving(*strategy, clock);
    expect(leaving, MDIST_VERDICT_GO_ON, MDIST_NONE);
    leaving.announce(100);
    for (int i = 0; i < 9; ++i, clock.now += 10) leaving.announce(100);
    expect(leaving, MDIST_VERDICT_END, 0);
}

} // namespace

SUBJECT(leaving) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(without_grace_the_next_check_is_the_end),
        cmocka_unit_test(with_grace_it_is_saved_at_once_and_once_more_at_the_end),
        cmocka_unit_test(a_slow_save_brings_the_end_nearer),
        cmocka_unit_test(only_the_first_announcement_counts),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
