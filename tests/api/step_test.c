// SPDX-License-Identifier: Apache-2.0
// Runs on the caller's own threads: what mdist_run_begin, enter, exit and mdist_run_end promise.
#include "step_support.h"

#include <stdatomic.h>

// ---- The results are those of mdist_run.

/// Sets the result to the sum of (argument + id) over all replicas, plus the own id.
static int32_t sum_arguments(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_tensor_t in;
    if (mdist_replica_argument(replica, 0, NULL, &in, NULL) != MDIST_OK) return 1;
    const float id = (float)mdist_replica_id(replica);
    float x = *(float *)in.data + id;
    const mdist_buffer_t buffer = buffer_of(&x, MDIST_FLOAT32, 1);
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 2;
    x += id;
    const mdist_tensor_t out = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_replica_set_result(replica, 0, NULL, &out, NULL) == MDIST_OK ? 0 : 3;
}

static void a_run_in_brackets_gives_what_mdist_run_gives(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 8; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, n % 2 == 0 ? "caller" : "threads");
        float three = 3;
        mdist_value_t *argument = make_value(&three, MDIST_FLOAT32, 0);
        for (int again = 0; again < 3; ++again) {
            mdist_value_t *results[2] = {NULL, NULL};
            mdist_tensor_t tensor;
            OK(run_own(strategy, sum_arguments, NULL,
                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1,
                                         .results = results, .result_count = 2},
                       &error));
            assert_null(results[1]); // no replica set it
            assert_int_equal(mdist_value_kind(results[0]), MDIST_VALUE_PER_REPLICA);
            for (uint32_t i = 0; i < n; ++i) {
                OK(mdist_value_tensor(results[0], i, &tensor, &error));
                assert_true(*(float *)tensor.data == (float)(3 * n + n * (n - 1) / 2 + i));
            }
            mdist_value_destroy(results[0]);
        }
        mdist_value_destroy(argument);
        mdist_strategy_destroy(strategy);
    }
}

static void replicas_know_who_they_are(void **state) {
    (void)state;
    Entered run;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    begin_and_enter(&run, strategy);
    for (uint32_t i = 0; i < 3; ++i) {
        assert_int_equal(mdist_replica_id(run.replicas[i]), i);
        assert_int_equal(mdist_replica_local_index(run.replicas[i]), i);
        assert_int_equal(mdist_replica_count(run.replicas[i]), 3);
    }
    exit_all(&run);
    for (uint32_t i = 0; i < 3; ++i) assert_int_equal(mdist_replica_id(run.replicas[i]), MDIST_NONE);
    REASON(MDIST_ERR_BAD_HANDLE, mdist_replica_exit(run.replicas[0], 0, error_out), "");
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

// ---- Calls in the wrong order.

static void brackets_in_the_wrong_order_are_refused_and_change_nothing(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_replica_t *replicas[2], *again = NULL;
    mdist_value_t *results[2] = {NULL, NULL};
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_run_end(strategy, NULL, 0, error_out), "no_run");
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_enter(strategy, 0, &again, error_out), "no_run");
    OK(mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = 1}, &error));
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_run_begin(strategy, NULL, error_out), "busy");
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_run(strategy, sum_of_ones, NULL, NULL, error_out), "busy");
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_enter(strategy, 2, &again, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_enter(strategy, 0, NULL, &error));
    OK(mdist_replica_enter(strategy, 1, &replicas[1], &error));
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_enter(strategy, 1, &again, error_out), "entered_before");
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_run_end(strategy, results, 1, error_out), "replica_inside");
    OK(mdist_replica_exit(replicas[1], 0, &error));
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_enter(strategy, 1, &again, error_out), "entered_before");
    OK(mdist_replica_enter(strategy, 0, &replicas[0], &error));
    OK(mdist_replica_exit(replicas[0], 0, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_end(strategy, results, 2, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_end(strategy, NULL, 1, &error));
    assert_null(again);
    OK(mdist_run_end(strategy, results, 1, &error));
    assert_null(results[0]);
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_run_end(strategy, results, 1, error_out), "no_run");
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void a_run_that_could_not_begin_leaves_the_strategy_free(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float number = 0;
    mdist_strategy_t *strategy = make_strategy(2, NULL), *other = make_strategy(3, NULL);
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0), three[3] = {tensor, tensor, tensor};
    mdist_value_t *foreign = NULL;
    OK(mdist_value_per_replica(other, three, 3, &foreign, &error));
    assert_true(mdist_run_begin(strategy,
                                &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &foreign, .argument_count = 1},
                                NULL) < 0); // three tensors for two replicas
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = NULL, .argument_count = 1},
                          &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .flags = 1}, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, // mdist_run_end gives results
          mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &foreign, .result_count = 1},
                          &error));
    FAILS(MDIST_ERR_OUT_OF_MEMORY,
          mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = SIZE_MAX / 2}, &error));
    mdist_value_destroy(foreign);
    FAILS(MDIST_ERR_BAD_HANDLE,
          mdist_run_begin(
              strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &foreign, .argument_count = 1}, &error));
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
    mdist_strategy_destroy(other);
}

static void a_replica_that_never_entered_fails_the_run(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (uint32_t who = 0; who < 3; ++who) {
        mdist_replica_t *replica = NULL;
        OK(mdist_run_begin(strategy, NULL, &error));
        OK(mdist_replica_enter(strategy, who, &replica, &error));
        OK(mdist_replica_exit(replica, 0, &error));
        const mdist_status_t status = mdist_run_end(strategy, NULL, 0, &error);
        assert_int_equal(status, MDIST_ERR_FAILED_PRECONDITION);
        assert_string_equal(mdist_error_reason(error), "not_entered");
        assert_int_equal(mdist_error_replica(error), who == 0 ? 1 : 0);
        mdist_error_free(error);
        // The failed call has closed the run. A replica's own failure is reported before a replica that never entered.
        OK(mdist_run_begin(strategy, NULL, &error));
        OK(mdist_replica_enter(strategy, who, &replica, &error));
        OK(mdist_replica_exit(replica, 55, &error));
        FAILS(MDIST_ERR_CALLBACK, mdist_run_end(strategy, NULL, 0, &error));
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

// ---- Failures.

typedef struct Failing {
    int32_t who;
    mdist_status_t others[MOST_ENTERED];
    int mode;
} Failing;

enum { IN_BARRIER, IN_REDUCE, IN_MERGE, MODES };

static int32_t one_fails(mdist_replica_t *replica, void *user_data) {
    Failing *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    float large[6000] = {0};
    const mdist_buffer_t buffer = buffer_of(large, MDIST_FLOAT32, 6000);
    if (id == self->who) return 70 + id;
    self->others[id] = self->mode == IN_BARRIER  ? mdist_barrier(replica, NULL, NULL)
                       : self->mode == IN_REDUCE ? mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL)
                                                 : mdist_merge_begin(replica, NULL, 0, NULL, NULL, NULL);
    return 0;
}

static void a_code_fails_the_run_and_releases_the_others(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 2; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int32_t who = 0; who < (int32_t)n; ++who) {
            for (int mode = 0; mode < MODES; ++mode) {
                Failing self = {.who = who, .mode = mode};
                const mdist_status_t status = run_own(strategy, one_fails, &self, NULL, &error);
                assert_int_equal(status, MDIST_ERR_CALLBACK);
                assert_int_equal(mdist_error_native(error), 70 + who);
                assert_int_equal(mdist_error_replica(error), who);
                assert_string_equal(mdist_error_operation(error), "mdist_run");
                mdist_error_free(error);
                for (int32_t i = 0; i < (int32_t)n; ++i)
                    assert_int_equal(self.others[i], i == who ? MDIST_OK : MDIST_ERR_ABORTED);
            }
        }
        expect_runs(strategy);
        mdist_strategy_destroy(strategy);
    }
}

static int32_t one_leaves_early(mdist_replica_t *replica, void *user_data) {
    Failing *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    if (id != self->who) self->others[id] = mdist_barrier(replica, NULL, NULL);
    return 0;
}

static void who_leaves_early_is_missed(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int32_t who = 0; who < 3; ++who) {
        Failing self = {.who = who};
        const mdist_status_t status = run_own(strategy, one_leaves_early, &self, NULL, &error);
        assert_int_equal(status, MDIST_ERR_MISMATCH);
        assert_string_equal(mdist_error_reason(error), "step_returned");
        assert_int_equal(mdist_error_replica(error), who);
        mdist_error_free(error);
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void the_first_failure_is_the_runs_though_the_steps_swallow_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Entered run;
    float number = 0;
    const mdist_buffer_t bad = buffer_of(&number, (mdist_dtype_t)77, 1);
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    begin_and_enter(&run, strategy);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_all_reduce(run.replicas[1], MDIST_SUM, &bad, &bad, 1, NULL, &error));
    FAILS(MDIST_ERR_ABORTED, mdist_barrier(run.replicas[0], NULL, &error));
    exit_all(&run);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_end(strategy, NULL, 0, &error));
    // If a call fails and the replica exits with a code, the error names the call.
    begin_and_enter(&run, strategy);
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_replica_argument(run.replicas[1], 9, NULL, (mdist_tensor_t[1]){{0}}, &error));
    OK(mdist_replica_exit(run.replicas[1], 5, &error));
    OK(mdist_replica_exit(run.replicas[0], 6, &error)); // the second failure is not reported
    assert_int_equal(mdist_run_end(strategy, NULL, 0, &error), MDIST_ERR_CALLBACK);
    assert_int_equal(mdist_error_native(error), 5);
    WORDS(error, "mdist_replica_argument");
    mdist_error_free(error);
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void the_runs_timeout_is_for_this_run_alone(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_replica_t *replica = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    const mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = 20000000};
    OK(run_own(strategy, sum_of_ones, NULL, &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = 1ull << 62},
               &error));
    OK(mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = soon.timeout_ns}, &error));
    OK(mdist_replica_enter(strategy, 0, &replica, &error));
    FAILS(MDIST_ERR_TIMEOUT, mdist_barrier(replica, NULL, &error)); // the default is 5 minutes
    OK(mdist_replica_exit(replica, 0, &error));
    FAILS(MDIST_ERR_TIMEOUT, mdist_run_end(strategy, NULL, 0, &error));
    FAILS(MDIST_ERR_ABORTED, mdist_run_begin(strategy, NULL, &error)); // every later run fails
    FAILS(MDIST_ERR_ABORTED, mdist_run_begin(strategy, NULL, &error)); // and is not `busy`
    mdist_strategy_destroy(strategy);
}

// ---- Any thread may use the handle of a replica.

typedef struct Visit {
    mdist_replica_t *replica;
    int turn;
    Note note;
} Visit;

static void *visit(void *argument) {
    Visit *self = argument;
    mdist_error_t *error = NULL;
    float number = (float)self->turn, sum = 0;
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    const mdist_buffer_t in = buffer_of(&number, MDIST_FLOAT32, 1), out = buffer_of(&sum, MDIST_FLOAT32, 1);
    note(&self->note, MDIST_OK, mdist_replica_set_result(self->replica, 0, NULL, &tensor, &error), &error, "set");
    note(&self->note, MDIST_OK, mdist_all_reduce(self->replica, MDIST_SUM, &in, &out, 1, NULL, &error), &error, "sum");
    return NULL;
}

static void a_step_moves_from_thread_to_thread(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *result = NULL;
    mdist_tensor_t tensor;
    Visit visits[2];
    OK(mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = 1}, &error));
    for (uint32_t i = 0; i < 2; ++i) {
        memset(&visits[i], 0, sizeof visits[i]);
        OK(mdist_replica_enter(strategy, i, &visits[i].replica, &error));
    }
    for (int turn = 0; turn < 20; ++turn) {
        pthread_t threads[2];
        for (int i = 0; i < 2; ++i) {
            visits[i].turn = turn;
            assert_int_equal(pthread_create(&threads[i], NULL, visit, &visits[i]), 0);
        }
        for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 2; ++i) {
        assert_string_equal(visits[i].note.text, "");
        OK(mdist_replica_exit(visits[i].replica, 0, &error));
    }
    OK(mdist_run_end(strategy, &result, 1, &error));
    OK(mdist_value_tensor(result, 1, &tensor, &error));
    assert_true(*(float *)tensor.data == 19);
    mdist_value_destroy(result);
    mdist_strategy_destroy(strategy);
}

static void *stand_in_barrier(void *argument) {
    Visit *self = argument;
    mdist_error_t *error = NULL;
    mdist_status_t status;
    // Retries while the test itself uses the replica, to see when this thread is in its call.
    while ((status = mdist_barrier(self->replica, NULL, &error)) == MDIST_ERR_FAILED_PRECONDITION) {
        mdist_error_free(error);
        error = NULL;
    }
    note(&self->note, MDIST_OK, status, &error, "barrier");
    return NULL;
}

static void one_thread_at_a_time_uses_a_replica(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Entered run;
    Visit waiting = {0};
    pthread_t thread;
    mdist_tensor_t tensor;
    begin_and_enter(&run, strategy);
    waiting.replica = run.replicas[1];
    assert_int_equal(pthread_create(&thread, NULL, stand_in_barrier, &waiting), 0);
    // Index 9 is invalid: INVALID_ARGUMENT before the other thread is in its call, FAILED_PRECONDITION afterwards.
    while (mdist_replica_argument(run.replicas[1], 9, NULL, &tensor, NULL) != MDIST_ERR_FAILED_PRECONDITION)
        sched_yield();
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_argument(run.replicas[1], 9, NULL, &tensor, error_out), "busy");
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_barrier(run.replicas[1], NULL, error_out), "busy");
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(run.replicas[1], 3, error_out), "busy");
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_merge_begin(run.replicas[1], NULL, 0, NULL, NULL, error_out), "busy");
    assert_int_equal(mdist_replica_id(run.replicas[1]), 1);
    OK(mdist_barrier(run.replicas[0], NULL, &error)); // the refused calls have not failed the run
    pthread_join(thread, NULL);
    assert_string_equal(waiting.note.text, "");
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void *end_run(void *argument) {
    mdist_status_t *status = malloc(sizeof *status);
    *status = mdist_run_end(argument, NULL, 0, NULL);
    return status;
}

static void begin_and_end_may_come_from_different_threads(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    for (int again = 0; again < 50; ++again) {
        mdist_replica_t *replica = NULL;
        pthread_t threads[3];
        int ended = 0, refused = 0;
        OK(mdist_run_begin(strategy, NULL, &error));
        OK(mdist_replica_enter(strategy, 0, &replica, &error));
        OK(mdist_replica_exit(replica, 0, &error));
        for (int i = 0; i < 3; ++i) assert_int_equal(pthread_create(&threads[i], NULL, end_run, strategy), 0);
        for (int i = 0; i < 3; ++i) {
            void *status = NULL;
            pthread_join(threads[i], &status);
            ended += *(mdist_status_t *)status == MDIST_OK;
            refused += *(mdist_status_t *)status == MDIST_ERR_FAILED_PRECONDITION;
            free(status);
        }
        assert_int_equal(ended, 1);
        assert_int_equal(refused, 2);
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

typedef struct Rush {
    mdist_strategy_t *strategy;
    atomic_int begun, entered, ended;
} Rush;

/// Runs on several threads at once, in any order. A call may fail, except the exit of a replica that has entered.
static void *rush(void *argument) {
    Rush *self = argument;
    for (int i = 0; i < 200; ++i) {
        mdist_replica_t *replica = NULL;
        if (mdist_run_begin(self->strategy, NULL, NULL) == MDIST_OK) atomic_fetch_add(&self->begun, 1);
        if (mdist_replica_enter(self->strategy, (uint32_t)i % 2, &replica, NULL) == MDIST_OK) {
            atomic_fetch_add(&self->entered, 1);
            if (mdist_replica_exit(replica, 0, NULL) != MDIST_OK) return NULL;
        }
        mdist_error_t *error = NULL;
        const mdist_status_t status = mdist_run_end(self->strategy, NULL, 0, &error);
        if (status == MDIST_OK || strcmp(mdist_error_reason(error), "not_entered") == 0)
            atomic_fetch_add(&self->ended, 1);
        mdist_error_free(error);
    }
    return self;
}

static void many_threads_may_fight_for_one_strategy(void **state) {
    (void)state;
    Rush self = {.strategy = make_strategy(2, NULL)};
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, rush, &self), 0);
    for (int i = 0; i < 4; ++i) {
        void *returned = NULL;
        pthread_join(threads[i], &returned);
        assert_non_null(returned);
    }
    assert_int_equal(self.ended, self.begun);
    expect_runs(self.strategy);
    mdist_strategy_destroy(self.strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_in_brackets_gives_what_mdist_run_gives),
        cmocka_unit_test(replicas_know_who_they_are),
        cmocka_unit_test(brackets_in_the_wrong_order_are_refused_and_change_nothing),
        cmocka_unit_test(a_run_that_could_not_begin_leaves_the_strategy_free),
        cmocka_unit_test(a_replica_that_never_entered_fails_the_run),
        cmocka_unit_test(a_code_fails_the_run_and_releases_the_others),
        cmocka_unit_test(who_leaves_early_is_missed),
        cmocka_unit_test(the_first_failure_is_the_runs_though_the_steps_swallow_it),
        cmocka_unit_test(the_runs_timeout_is_for_this_run_alone),
        cmocka_unit_test(a_step_moves_from_thread_to_thread),
        cmocka_unit_test(one_thread_at_a_time_uses_a_replica),
        cmocka_unit_test(begin_and_end_may_come_from_different_threads),
        cmocka_unit_test(many_threads_may_fight_for_one_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
