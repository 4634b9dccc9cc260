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
    REQUIRE(mdist_error_rank(error) == victim);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

static int32_t meet(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static mdist_status_t meet_in_a_run(mdist_strategy_t *strategy, mdist_error_t **error) {
    return mdist_run(strategy, meet, NULL, NULL, error);
}

static mdist_status_t sum_between_runs(mdist_strategy_t *strategy, mdist_error_t **error) {
    float number = 1;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_FLOAT32, 1);
    return mdist_strategy_all_reduce(strategy, MDIST_SUM, &buffer, &buffer, 1, NULL, error);
}

static void require_loss(mdist_error_t *error) {
    REQUIRE(mdist_error_status(error) == MDIST_ERR_PEER_LOST);
    REQUIRE(mdist_error_rank(error) == victim);
    mdist_error_free(error);
}

/// It is one and the same loss for the call that meets it, for check_health right after it, and for all later calls.
static void one_is_killed_and_all_calls_say_so(void) {
    mdist_status_t (*const calls[])(mdist_strategy_t *, mdist_error_t **) = {meet_in_a_run, sum_between_runs};
    const size_t first = *getenv("TEST_FIRST") == '1';
    mdist_strategy_t *strategy = join();
    for (int i = 0; i < 3; ++i) (void)calls[first](strategy, NULL); // the victim may be through before the others
    if (rank == victim) raise(SIGKILL);
    if (getenv("TEST_KNOWN") != NULL) require_loss(await_illness(strategy)); // before any call
    for (size_t i = 0; i < 4; ++i) {
        mdist_error_t *error = NULL;
        const mdist_status_t status = calls[(first + i) % 2](strategy, &error);
        REQUIRE(status == MDIST_ERR_PEER_LOST);
        require_loss(error);
        error = NULL;
        REQUIRE(mdist_strategy_check_health(strategy, &error) == MDIST_ERR_PEER_LOST);
        require_loss(error);
    }
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

static void a_loss_is_the_same_whenever_it_is_known(void **unused) {
    (void)unused;
    for (int first = 0; first < 2; ++first)
        for (int known = 0; known < 2; ++known) {
            const char *const environment[] = {first ? "TEST_FIRST=1" : "TEST_FIRST=0", known ? "TEST_KNOWN=1" : NULL,
                                               NULL};
            const Workers job = {.scenario = "one_is_killed_and_all_calls_say_so",
                                 .count = 3,
                                 .devices = "cpu*1",
                                 .environment = environment,
                                 .victim = 1,
                                 .killed = 1};
            assert_int_equal(run_workers(&job), 0);
        }
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
        cmocka_unit_test(a_loss_is_the_same_whenever_it_is_known),
        cmocka_unit_test(an_abort_is_seen_by_all),
        cmocka_unit_test(alone_it_tells_of_an_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"one_is_killed", one_is_killed},
        {"one_is_killed_and_all_calls_say_so", one_is_killed_and_all_calls_say_so},
        {"one_aborts", one_aborts},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
