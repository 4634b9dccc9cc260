// SPDX-License-Identifier: Apache-2.0
// Causes that a thread of the program gives (mdist_fail) before mdist_replica_exit or mdist_merge_end.
#include "step_support.h"

enum { CODE = 7 };

/// Exits the only replica of a new run of `strategy`. Checks the error message of the run; "" if `code` is 0.
static void leave(mdist_strategy_t *strategy, mdist_replica_t *replica, int32_t code, const char *message) {
    mdist_error_t *error = NULL;
    OK(mdist_replica_exit(replica, code, &error));
    const mdist_status_t status = mdist_run_end(strategy, NULL, 0, &error);
    assert_int_equal(status, code == 0 ? MDIST_OK : MDIST_ERR_CALLBACK);
    assert_string_equal(mdist_error_message(error), message);
    assert_int_equal(mdist_error_native(error), code);
    mdist_error_free(error);
}

static void what_is_said_before_the_exit_comes_back_from_the_run(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    Entered entered;
    begin_and_enter(&entered, strategy);
    mdist_fail(0, "the loss is NaN at batch 41");
    leave(strategy, entered.replicas[0], CODE, "the step of replica 0 returned 7: the loss is NaN at batch 41");

    begin_and_enter(&entered, strategy); // the cause was used up by the first run
    leave(strategy, entered.replicas[0], CODE, "the step of replica 0 returned 7");

    mdist_fail(0, "before the replica was entered");
    begin_and_enter(&entered, strategy);
    leave(strategy, entered.replicas[0], CODE, "the step of replica 0 returned 7");

    begin_and_enter(&entered, strategy);
    mdist_fail(0, "it went well after all");
    leave(strategy, entered.replicas[0], 0, "");
    mdist_strategy_destroy(strategy);
}

static void a_sentence_is_for_the_exit_that_comes_next(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int first_fails = 0; first_fails < 2; ++first_fails) {
        Entered entered;
        begin_and_enter(&entered, strategy);
        mdist_fail(0, "the first of two");
        OK(mdist_replica_exit(entered.replicas[0], first_fails ? CODE : 0, &error));
        OK(mdist_replica_exit(entered.replicas[1], CODE, &error));
        mdist_run_end(strategy, NULL, 0, &error);
        assert_string_equal(mdist_error_message(error), first_fails
                                                            ? "the step of replica 0 returned 7: the first of two"
                                                            : "the step of replica 1 returned 7");
        mdist_error_free(error);
    }
    mdist_strategy_destroy(strategy);
}

static int32_t say_own_id(mdist_replica_t *replica, void *user_data) {
    char why[32];
    (void)user_data;
    snprintf(why, sizeof why, "I am %d", (int)mdist_replica_id(replica));
    mdist_fail(0, why);
    return CODE;
}

static void each_thread_speaks_for_itself(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(4, NULL);
    for (int again = 0; again < 20; ++again) {
        mdist_error_t *error = NULL;
        char wanted[64];
        run_own(strategy, say_own_id, NULL, NULL, &error);
        const int id = mdist_error_replica(error);
        snprintf(wanted, sizeof wanted, "the step of replica %d returned 7: I am %d", id, id);
        assert_string_equal(mdist_error_message(error), wanted);
        mdist_error_free(error);
    }
    mdist_strategy_destroy(strategy);
}

static void what_is_said_in_a_merge_comes_back_from_the_run(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    for (int says = 0; says < 2; ++says) {
        mdist_error_t *error = NULL;
        Entered entered;
        begin_and_enter(&entered, strategy);
        OK(mdist_merge_begin(entered.replicas[0], NULL, 0, NULL, NULL, &error));
        if (says) mdist_fail(0, "the norm is too large");
        FAILS(MDIST_ERR_CALLBACK, mdist_merge_end(entered.replicas[0], CODE, NULL, NULL, 0, &error));
        OK(mdist_replica_exit(entered.replicas[0], 9, &error));
        mdist_run_end(strategy, NULL, 0, &error);
        assert_string_equal(mdist_error_message(error),
                            says ? "the merge returned 7: the norm is too large" : "the merge returned 7");
        mdist_error_free(error);
    }
    mdist_strategy_destroy(strategy);
}

/// A step that enters and exits a replica of another strategy.
static int32_t run_another(mdist_replica_t *replica, void *user_data) {
    mdist_strategy_t *other = user_data;
    mdist_replica_t *inner = NULL;
    mdist_error_t *error = NULL;
    (void)replica;
    mdist_run_begin(other, NULL, NULL);
    mdist_replica_enter(other, 0, &inner, NULL);
    mdist_fail(0, "of the inner one");
    mdist_replica_exit(inner, CODE, NULL);
    mdist_run_end(other, NULL, 0, &error);
    const int right =
        strcmp(mdist_error_message(error), "the step of replica 0 returned 7: of the inner one") == 0 ? CODE : 8;
    mdist_error_free(error);
    return right;
}

static void an_exit_inside_of_a_step_takes_what_was_said_there(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL), *other = make_strategy(1, NULL);
    mdist_run(strategy, run_another, other, NULL, &error);
    assert_int_equal(mdist_error_native(error), CODE);
    assert_string_equal(mdist_error_message(error),
                        "the step of replica 0 returned 7. A call in it had failed: "
                        "mdist_run_end: the step of replica 0 returned 7: of the inner one");
    mdist_error_free(error);
    mdist_strategy_destroy(other);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_before_the_exit_comes_back_from_the_run),
        cmocka_unit_test(a_sentence_is_for_the_exit_that_comes_next),
        cmocka_unit_test(each_thread_speaks_for_itself),
        cmocka_unit_test(what_is_said_in_a_merge_comes_back_from_the_run),
        cmocka_unit_test(an_exit_inside_of_a_step_takes_what_was_said_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
