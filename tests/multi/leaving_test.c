// SPDX-License-Identifier: Apache-2.0
// A signal that one worker gets makes all of them end at the same step.
#include "multi.h"

#include <signal.h>

static mdist_strategy_t *told;

static void on_signal(int number) {
    (void)number;
    mdist_membership_leave(told, 0);
}

static int32_t checked(mdist_strategy_t *strategy, uint32_t *leaver) {
    int32_t verdict = -1;
    GIVES(MDIST_OK, mdist_membership_check(strategy, &verdict, leaver, NULL, &error));
    return verdict;
}

/// Worker 1 gets a real SIGTERM in its fifth step.
static void one_is_told_to_go(void) {
    mdist_strategy_t *const strategy = told = join();
    uint32_t leaver = 7;
    signal(SIGTERM, on_signal);
    int steps = 0;
    for (int32_t verdict = MDIST_VERDICT_GO_ON; verdict == MDIST_VERDICT_GO_ON; ++steps) {
        REQUIRE(steps < 5);
        REQUIRE(leaver == (steps == 0 ? 7 : MDIST_NONE));
        if (rank == 1 && steps == 4) REQUIRE(raise(SIGTERM) == 0);
        verdict = checked(strategy, &leaver);
        REQUIRE(verdict == MDIST_VERDICT_GO_ON || verdict == MDIST_VERDICT_END);
    }
    REQUIRE(steps == 5);
    REQUIRE(leaver == 1);
    signal(SIGTERM, SIG_DFL);
    mdist_strategy_destroy(strategy);
}

static void grace_is_that_of_the_worker_that_goes(void) {
    mdist_strategy_t *const strategy = join();
    uint32_t leaver = 7;
    REQUIRE(checked(strategy, &leaver) == MDIST_VERDICT_GO_ON && leaver == MDIST_NONE);
    if (rank != 0) mdist_membership_leave(strategy, 3600 * (uint64_t)1000000000);
    REQUIRE(checked(strategy, &leaver) == MDIST_VERDICT_SAVE && leaver == 1);
    REQUIRE(checked(strategy, &leaver) == MDIST_VERDICT_GO_ON && leaver == 1);
    if (rank == 1) mdist_membership_leave(strategy, 0); // the first call counts
    REQUIRE(checked(strategy, &leaver) == MDIST_VERDICT_GO_ON && leaver == 1);
    if (rank == 0) mdist_membership_leave(strategy, 0);
    REQUIRE(checked(strategy, &leaver) == MDIST_VERDICT_END && leaver == 0);
    mdist_strategy_destroy(strategy);
}

static void another_call_is_told_apart(void) {
    mdist_strategy_t *const strategy = join();
    int32_t verdict = -1;
    float x = 1;
    mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    mdist_value_t *value = NULL, *out = NULL;
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, &tensor, 1, &value, &error));
    if (rank == 0)
        GIVES(MDIST_ERR_MISMATCH, mdist_membership_check(strategy, &verdict, NULL, NULL, &error));
    else
        GIVES(MDIST_ERR_MISMATCH, mdist_strategy_reduce(strategy, MDIST_SUM, value, &out, NULL, &error));
    REQUIRE(strstr(message, "mdist_membership_check") != NULL && strstr(message, "mdist_strategy_reduce") != NULL);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario, uint32_t workers, const char *devices) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices};
    assert_int_equal(run_workers(&job), 0);
}

static void all_end_at_the_same_step(void **unused) {
    (void)unused;
    check("one_is_told_to_go", 2, "cpu*1");
    check("one_is_told_to_go", 3, "cpu*2");
}

static void the_grace_of_whoever_goes_counts(void **unused) {
    (void)unused;
    check("grace_is_that_of_the_worker_that_goes", 2, "cpu*1");
}

static void asking_while_another_does_something_else_is_a_mismatch(void **unused) {
    (void)unused;
    check("another_call_is_told_apart", 2, "cpu*1");
}

static void misuse_changes_nothing(void **unused) {
    (void)unused;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    int32_t verdict = 77;
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_membership_check(NULL, &verdict, NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_membership_check(strategy, NULL, NULL, NULL, &error));
    OK(mdist_membership_check(strategy, &verdict, NULL, NULL, &error));
    assert_int_equal(verdict, MDIST_VERDICT_GO_ON);
    verdict = 77;
    mdist_strategy_destroy(strategy);
    mdist_membership_leave(strategy, 0);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_membership_check(strategy, &verdict, NULL, NULL, &error));
    assert_int_equal(verdict, 77);
    mdist_membership_leave(NULL, 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_end_at_the_same_step),
        cmocka_unit_test(the_grace_of_whoever_goes_counts),
        cmocka_unit_test(asking_while_another_does_something_else_is_a_mismatch),
        cmocka_unit_test(misuse_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"one_is_told_to_go", one_is_told_to_go},
        {"grace_is_that_of_the_worker_that_goes", grace_is_that_of_the_worker_that_goes},
        {"another_call_is_told_apart", another_call_is_told_apart},
    };
    return multi_main(argument_count, arguments, scenarios, 3, test_all);
}
