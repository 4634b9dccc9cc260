// SPDX-License-Identifier: Apache-2.0
// One worker leads the others, and something goes wrong. All workers must be told, and nobody may wait for a worker
// that is gone.
#include "multi.h"

#include <signal.h>
#include <unistd.h>

static int32_t meet(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

/// The victim's replica 0 returns 77. Nobody waits for it in the step.
static int32_t fail_alone(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    return rank == victim && mdist_replica_local_index(replica) == 0 ? 77 : 0;
}

static int32_t die(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (rank == victim) kill(getpid(), SIGKILL);
    return mdist_barrier(replica, NULL, NULL) != MDIST_OK;
}

static int32_t fail_update(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                           size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    if (rank != victim || local_replica != 0) return 0;
    mdist_fail(0, "the copy is gone");
    return 78;
}

static mdist_strategy_t *join_and_register(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_step_register(strategy, "meet", meet, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "fail", fail_alone, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "die", die, NULL, &error));
    GIVES(MDIST_OK, mdist_update_register(strategy, "fail", fail_update, NULL, &error));
    return strategy;
}

static mdist_status_t run(mdist_strategy_t *strategy, const char *name, mdist_error_t **why) {
    return mdist_run_named(strategy, name, NULL, why);
}

/// Returns the status of the client's command or, on the other workers, of serving.
static mdist_status_t lead_or_serve(mdist_strategy_t *strategy, const char *name, mdist_error_t **why) {
    if (rank != 0) return mdist_serve(strategy, NULL, why);
    GIVES(MDIST_OK, run(strategy, "meet", &error));
    return run(strategy, name, why);
}

// --- what fails on one worker

static void told_the_cause(mdist_status_t status, const mdist_error_t *error, const char *words, int32_t native) {
    if (status == (rank == victim ? MDIST_ERR_CALLBACK : MDIST_ERR_ABORTED) &&
        strstr(mdist_error_message(error), words) != NULL && mdist_error_native(error) == native &&
        (rank == victim || mdist_error_rank(error) == victim))
        return;
    fprintf(stderr, "%s of worker %d: %s\n", mdist_status_name(status), mdist_error_rank(error),
            mdist_error_message(error));
    GIVE_UP("everybody is told the cause");
}

static void one_step_fails(void) {
    mdist_strategy_t *strategy = join_and_register();
    const uint32_t locals = mdist_strategy_replica_count(strategy) / worker_count;
    mdist_error_t *cause = NULL;
    const mdist_status_t status = lead_or_serve(strategy, "fail", &cause);
    char words[64];
    snprintf(words, sizeof words, "the step of replica %u returned 77", victim * locals);
    told_the_cause(status, cause, words, 77);
    REQUIRE(mdist_error_replica(cause) == (victim * locals));
    mdist_error_free(cause);
    if (rank == 0) GIVES(MDIST_ERR_ABORTED, run(strategy, "meet", &error));
    mdist_strategy_destroy(strategy);
}

static void one_update_fails(void) {
    mdist_strategy_t *strategy = join_and_register();
    mdist_error_t *cause = NULL;
    const mdist_status_t status =
        rank != 0 ? mdist_serve(strategy, NULL, &cause) : mdist_update_named(strategy, NULL, "fail", NULL, &cause);
    told_the_cause(status, cause, "returned 78: the copy is gone", 78);
    mdist_error_free(cause);
    mdist_strategy_destroy(strategy);
}

static void one_has_registered_less(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_step_register(strategy, "meet", meet, NULL, &error));
    if (rank != victim) GIVES(MDIST_OK, mdist_step_register(strategy, "more", meet, NULL, &error));
    if (rank == 0) GIVES(MDIST_ERR_MISMATCH, run(strategy, "meet", &error));
    if (rank != 0) GIVES(MDIST_ERR_MISMATCH, mdist_serve(strategy, NULL, &error));
    char words[64];
    snprintf(words, sizeof words, "step \"more\" is registered on worker %u, but not on worker %u", victim == 0 ? 1 : 0,
             victim);
    REQUIRE(strstr(message, words) != NULL && strcmp(reason, "different_registrations") == 0);
    mdist_strategy_destroy(strategy);
}

// --- workers that are gone

/// Checks the error after a loss. The worker that learns of the loss first ends the job, so others may be told ABORTED.
static void hears_of_the_loss(mdist_status_t status, mdist_error_t *error) {
    if (status != MDIST_ERR_PEER_LOST && status != MDIST_ERR_ABORTED)
        fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(error));
    REQUIRE(status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_ABORTED);
    mdist_error_free(error);
}

static void one_dies_in_a_step(void) {
    mdist_strategy_t *strategy = join_and_register();
    mdist_error_t *error = NULL;
    const mdist_status_t status = lead_or_serve(strategy, "die", &error);
    hears_of_the_loss(status, error);
    mdist_strategy_destroy(strategy);
}

static void client_dies_between_commands(void) {
    mdist_strategy_t *strategy = join_and_register();
    if (rank == 0) {
        GIVES(MDIST_OK, run(strategy, "meet", &error));
        kill(getpid(), SIGKILL);
    }
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_serve(strategy, NULL, &error);
    hears_of_the_loss(status, error);
    mdist_strategy_destroy(strategy);
}

/// The victim stays away until the other worker has given up. There are two workers, so that the other one waits only
/// for the victim.
static void one_is_late(void) {
    mdist_strategy_t *strategy = join_and_register();
    const mdist_call_options_t soon = {.struct_size = sizeof soon,
                                       .timeout_ns = (uint64_t)atoi(getenv("TEST_LIMIT")) * 1000000000};
    const mdist_call_options_t *const options = rank == victim ? NULL : &soon;
    mdist_error_t *error = NULL;
    if (rank == victim) outlive_others();
    const mdist_status_t status =
        rank == 0 ? mdist_run_named(strategy, "meet",
                                    &(mdist_run_io_t){sizeof(mdist_run_io_t),
                                                      .timeout_ns = options == NULL ? 0 : options->timeout_ns},
                                    &error)
                  : mdist_serve(strategy, options, &error);
    REQUIRE_UNLESS_LATE(rank == victim ? status < 0 : status == MDIST_ERR_TIMEOUT && mdist_error_rank(error) == victim,
                        status);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

static void serving_needs_a_client(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_serve(strategy, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// --- the tests

/// `limit` is the variable of a time limit that is to run out, or NULL.
static void check_job(const char *scenario, uint32_t workers, const char *devices, uint32_t victim_rank, int killed,
                      const char *limit) {
    const char *const environment[] = {"MDIST_STRATEGY=in_graph", NULL};
    const Workers job = {.scenario = scenario,
                         .count = workers,
                         .devices = devices,
                         .environment = environment,
                         .victim = victim_rank,
                         .killed = killed};
    if ((limit != NULL ? run_workers_in_time(&job, limit) : run_workers(&job)) == 0) return;
    print_error("%s: %u workers with %s, victim %u\n", scenario, workers, devices, victim_rank);
    fail();
}

static void check(const char *scenario, uint32_t workers, const char *devices, uint32_t victim_rank, int killed) {
    check_job(scenario, workers, devices, victim_rank, killed, NULL);
}

static void a_step_that_fails_is_told_to_all(void **unused) {
    (void)unused;
    check("one_step_fails", 2, "cpu*2", 1, 0);
    check("one_step_fails", 3, "cpu*1", 0, 0);
    check("one_update_fails", 3, "cpu*1", 2, 0);
    check("one_update_fails", 2, "cpu*1", 0, 0);
}

static void what_is_registered_must_agree(void **unused) {
    (void)unused;
    check("one_has_registered_less", 3, "cpu*1", 1, 0);
    check("one_has_registered_less", 2, "cpu*2", 0, 0);
}

static void one_that_dies_ends_it_for_all(void **unused) {
    (void)unused;
    check("one_dies_in_a_step", 3, "cpu*1", 1, 1);
    check("one_dies_in_a_step", 2, "cpu*2", 0, 1);
    check("client_dies_between_commands", 3, "cpu*1", 0, 1);
}

static void one_that_is_late_is_named(void **unused) {
    (void)unused;
    check_job("one_is_late", 2, "cpu*2", 0, 0, "TEST_LIMIT");
    check_job("one_is_late", 2, "cpu*1", 1, 0, "TEST_LIMIT");
}

static void serving_is_for_those_who_are_led(void **unused) {
    (void)unused;
    const Workers job = {.scenario = "serving_needs_a_client", .count = 2, .devices = "cpu*1"};
    assert_int_equal(run_workers(&job), 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_fails_is_told_to_all), cmocka_unit_test(what_is_registered_must_agree),
        cmocka_unit_test(one_that_dies_ends_it_for_all),    cmocka_unit_test(one_that_is_late_is_named),
        cmocka_unit_test(serving_is_for_those_who_are_led),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"one_step_fails", one_step_fails},
        {"one_update_fails", one_update_fails},
        {"one_has_registered_less", one_has_registered_less},
        {"one_dies_in_a_step", one_dies_in_a_step},
        {"client_dies_between_commands", client_dies_between_commands},
        {"one_is_late", one_is_late},
        {"serving_needs_a_client", serving_needs_a_client},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
