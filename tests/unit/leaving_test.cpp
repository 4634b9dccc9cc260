// SPDX-License-Identifier: Apache-2.0
// When a worker that was told to go still goes on: grace against a clock of our own.
#include "strategy/job/check_membership.h"
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

struct Subject {
    HandClock clock;
    std::shared_ptr<Strategy> strategy = alone();
    Leaving leaving{clock};
};

void expect(Subject &self, int32_t verdict, uint32_t rank) {
    const MembershipAnswer answer = check_membership(*self.strategy, self.leaving, 0);
    assert_int_equal(answer.verdict, verdict);
    assert_int_equal(answer.rank, rank);
}

void without_grace_the_next_check_is_the_end(void **) {
    Subject self;
    expect(self, MDIST_VERDICT_GO_ON, MDIST_NONE);
    self.leaving.announce(0);
    expect(self, MDIST_VERDICT_END, 0);
    expect(self, MDIST_VERDICT_END, 0);
}

void with_grace_it_is_saved_at_once_and_once_more_at_the_end(void **) {
    Subject self;
    for (int i = 0; i < 3; ++i, self.clock.now += 10) expect(self, MDIST_VERDICT_GO_ON, MDIST_NONE);
    self.leaving.announce(100);
    expect(self, MDIST_VERDICT_SAVE, 0); // 100 left, and a step takes 10
    const int32_t wanted[] = {MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON,
                              MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON, MDIST_VERDICT_GO_ON,
                              MDIST_VERDICT_GO_ON, MDIST_VERDICT_END}; // at 80, 20 are left
    for (const int32_t verdict : wanted) {
        self.clock.now += 10;
        expect(self, verdict, 0);
    }
}

void a_slow_save_brings_the_end_nearer(void **) {
    Subject self;
    expect(self, MDIST_VERDICT_GO_ON, MDIST_NONE);
    self.leaving.announce(100);
    expect(self, MDIST_VERDICT_SAVE, 0);
    self.clock.now += 30; // the save
    expect(self, MDIST_VERDICT_GO_ON, 0);
    self.clock.now += 10; // 60 are left, and the longest took 30
    expect(self, MDIST_VERDICT_END, 0);
}

void only_the_first_announcement_counts(void **) {
    Subject self;
    expect(self, MDIST_VERDICT_GO_ON, MDIST_NONE);
    self.leaving.announce(100);
    for (int i = 0; i < 9; ++i, self.clock.now += 10) self.leaving.announce(100);
    expect(self, MDIST_VERDICT_END, 0);
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
