// SPDX-License-Identifier: Apache-2.0
// The other workers notice a worker's end without any collective.
#include "multi.h"

#include <sched.h>
#include <signal.h>

/// Waits until the library knows of the end. If that never happens, the test's time limit ends the wait.
static mdist_error_t *await_illness(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    while (mdist_strategy_check_health(strategy, &error) == MDIST_OK) sched_yield();
    return error;
}

static void one_is_killed(void) {
    mdist_strategy_t *strategy = join();
    if (rank == victim) {
        GIVES(MDIST_OK, mdist_strategy_check_health(strategy, &error));
        raise(SIGKILL);
    }
    mdist_error_t *error = await_illness(strategy);
    REQUIRE(mdist_error_status(error) == MDIST_ERR_PEER_LOST);
    REQUIRE(mdist_error_worker(error) == victim);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

static void one_aborts(void) {
    mdist_strategy_t *strategy = join();
    if (rank == victim) mdist_strategy_abort(strategy);
    mdist_error_t *error = await_illness(strategy);
    REQUIRE(mdist_error_status(error) == MDIST_ERR_ABORTED);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

static void a_killed_worker_is_seen_without_a_collective(void **unused) {
    (void)unused;
    const Workers job = {.scenario = "one_is_killed", .count = 3, .devices = "cpu*1", .victim = 1, .killed = 1};
    assert_int_equal(run_workers(&job), 0);
}

static void an_abort_is_seen_by_all(void **unused) {
    (void)unused;
    const Workers job = {.scenario = "one_aborts", .count = 2, .devices = "cpu*2", .victim = 1};
    assert_int_equal(run_workers(&job), 0);
}

static void alone_it_tells_of_an_abort(void **unused) {
    (void)unused;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    OK(mdist_strategy_check_health(strategy, &error));
    mdist_strategy_abort(strategy);
    assert_int_equal(mdist_strategy_check_health(strategy, &error), MDIST_ERR_ABORTED);
    assert_string_equal(mdist_error_reason(error), "aborted");
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_strategy_check_health(strategy, &error));
}

static int test_all(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_worker_is_seen_without_a_collective),
        cmocka_unit_test(an_abort_is_seen_by_all),
        cmocka_unit_test(alone_it_tells_of_an_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"one_is_killed", one_is_killed}, {"one_aborts", one_aborts}};
    return multi_main(argument_count, arguments, scenarios, 2, test_all);
}
