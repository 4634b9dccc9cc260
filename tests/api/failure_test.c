// SPDX-License-Identifier: Apache-2.0
// Steps and merges that fail on each replica. The library releases the other replicas, mdist_run reports which replica
// failed and why, and the strategy works afterwards.
#include "mdist_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { MOST = 5 };

static int32_t sum_ids(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    int64_t number = mdist_replica_id(replica) + 1;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_INT64, 1);
    const mdist_status_t status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
    const int64_t n = mdist_replica_count(replica);
    return status == MDIST_OK && number == n * (n + 1) / 2 ? 0 : 1;
}

static void assert_usable(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    for (int again = 0; again < 2; ++again) OK(mdist_run(strategy, sum_ids, NULL, NULL, &error));
}

/// What the other replicas do while one fails.
enum { IN_BARRIER, IN_REDUCE, IN_MERGE, IN_CREATION, NOWHERE, PLACES };

typedef struct Case {
    mdist_strategy_t *strategy;
    int32_t who;  // the replica that fails
    int32_t also; // a second one, or -1
    int32_t how;
    int where;
    Note notes[MOST];
    atomic_uint done; // number of replicas that returned
    mdist_status_t inner;
    int32_t inner_replica;
    int ends_thread;
    mdist_status_t status;
    char message[512], reason[32], operation[64];
    int32_t replica;
    int64_t native;
} Case;

enum { RETURNS = 1, EXITS };

static int32_t merge_nothing(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

static void wait_for_others(Case *self, mdist_replica_t *replica, int where) {
    const int32_t id = mdist_replica_id(replica);
    float number = 0;
    float large[5000];
    mdist_variable_t *variable = NULL;
    mdist_error_t *error = NULL;
    mdist_status_t status = MDIST_ERR_ABORTED;
    const mdist_buffer_t buffer = buffer_of(large, MDIST_FLOAT32, 5000);
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    memset(large, 0, sizeof large);
    if (where == IN_BARRIER) status = mdist_barrier(replica, NULL, &error);
    if (where == IN_REDUCE) status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &error);
    if (where == IN_MERGE) status = mdist_merge_call(replica, merge_nothing, NULL, NULL, 0, NULL, 0, NULL, &error);
    if (where == IN_CREATION) status = mdist_replica_variable_create(replica, "late", &tensor, &variable, NULL, &error);
    if (where != NOWHERE) note(&self->notes[id], MDIST_ERR_ABORTED, status, &error, "what others wait in");
}

static int32_t failing_step(mdist_replica_t *replica, void *user_data) {
    Case *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    if (id == self->who || id == self->also) {
        if (self->how == EXITS) pthread_exit(NULL);
        return 40 + id;
    }
    wait_for_others(self, replica, self->where);
    atomic_fetch_add(&self->done, 1);
    return 0;
}

static void take_error(Case *self, mdist_error_t *error) {
    snprintf(self->message, sizeof self->message, "%s", mdist_error_message(error));
    snprintf(self->reason, sizeof self->reason, "%s", mdist_error_reason(error));
    snprintf(self->operation, sizeof self->operation, "%s", mdist_error_operation(error));
    self->replica = mdist_error_replica(error);
    self->native = mdist_error_native(error);
    mdist_error_free(error);
}

static void assert_no_notes(const Case *self) {
    for (int i = 0; i < MOST; ++i) assert_string_equal(self->notes[i].text, "");
}

static void run_case(Case *self, mdist_step_fn step) {
    mdist_error_t *error = NULL;
    self->status = mdist_run(self->strategy, step, self, NULL, &error);
    take_error(self, error);
}

static void a_step_that_returns_non_zero_releases_the_others(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int32_t who = 0; who < (int32_t)n; ++who) {
            for (int where = 0; where < PLACES; ++where) {
                Case failing = {.strategy = strategy, .who = who, .also = -1, .how = RETURNS, .where = where};
                run_case(&failing, failing_step);
                assert_int_equal(failing.status, MDIST_ERR_CALLBACK);
                assert_int_equal(failing.replica, who);
                assert_int_equal(failing.native, 40 + who);
                assert_string_equal(failing.operation, "mdist_run");
                assert_int_equal(failing.done, n - 1);
                assert_no_notes(&failing);
                assert_usable(strategy);
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

static void of_two_that_fail_one_is_told(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(5, NULL);
    for (int i = 0; i < 40; ++i) {
        Case failing = {.strategy = strategy, .who = i % 5, .also = (i + 1 + i / 5 % 4) % 5, .how = RETURNS};
        failing.where = i % PLACES;
        run_case(&failing, failing_step);
        assert_int_equal(failing.status, MDIST_ERR_CALLBACK);
        assert_true(failing.replica == failing.who || failing.replica == failing.also);
        assert_int_equal(failing.native, 40 + failing.replica);
        assert_int_equal(failing.done, 3);
        assert_no_notes(&failing);
        assert_usable(strategy);
    }
    mdist_strategy_destroy(strategy);
}

// Replica 0 runs on the calling thread and may end it. So mdist_run is called on a thread of its own.
static void *run_failing_on_thread(void *argument) {
    run_case(argument, failing_step);
    return argument;
}

static void a_step_that_ends_its_thread_releases_the_others(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int32_t who = 0; who < (int32_t)n; ++who) {
            for (int where = 0; where < PLACES; ++where) {
                Case failing = {.strategy = strategy, .who = who, .also = -1, .how = EXITS, .where = where};
                pthread_t thread;
                void *returned = &failing;
                assert_int_equal(pthread_create(&thread, NULL, run_failing_on_thread, &failing), 0);
                pthread_join(thread, &returned);
                if (who == 0) assert_null(returned); // it ended its thread in the step, as intended
                if (who != 0) {
                    assert_int_equal(failing.status, MDIST_ERR_CALLBACK);
                    assert_int_equal(failing.replica, who);
                    assert_non_null(strstr(failing.message, "ended its thread"));
                }
                assert_int_equal(failing.done, n - 1);
                assert_no_notes(&failing);
                assert_usable(strategy);
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

static void executor_caller_stops_at_the_first_failure(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(4, "caller");
    for (int32_t who = 0; who < 4; ++who) {
        Case failing = {.strategy = strategy, .who = who, .also = -1, .how = RETURNS, .where = NOWHERE};
        run_case(&failing, failing_step);
        assert_int_equal(failing.status, MDIST_ERR_CALLBACK);
        assert_int_equal(failing.replica, who);
        assert_int_equal(failing.done, who);
    }
    mdist_strategy_destroy(strategy);
}

// ---- Failures in merges and in runs nested inside them.

enum { IN_MERGE_FUNCTION, IN_NESTED_STEP, IN_NESTED_MERGE };

static int32_t fail_now(const Case *self) {
    if (self->how == EXITS) pthread_exit(NULL);
    return 77;
}

static int32_t deepest_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    return fail_now(user_data);
}

static int32_t nested_step(mdist_replica_t *replica, void *user_data) {
    Case *self = user_data;
    if (self->where == IN_NESTED_MERGE) {
        mdist_merge_call(replica, deepest_merge, self, NULL, 0, NULL, 0, NULL, NULL);
        return 0; // ignores the failure; the run fails anyway
    }
    if ((int32_t)mdist_replica_id(replica) == self->who) return fail_now(self);
    mdist_barrier(replica, NULL, NULL);
    return 0;
}

static int32_t outer_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                           mdist_value_t **results, size_t result_count, void *user_data) {
    Case *self = user_data;
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    if (self->where == IN_MERGE_FUNCTION) return fail_now(self);
    mdist_error_t *error = NULL;
    self->inner = mdist_run(strategy, nested_step, self, NULL, &error);
    self->inner_replica = mdist_error_replica(error);
    mdist_error_free(error);
    if (self->inner == MDIST_OK) return 0;
    // A second run on the same threads works, unless one of them has ended.
    const mdist_status_t again = mdist_run(strategy, sum_ids, NULL, NULL, NULL);
    if (again != (self->ends_thread ? MDIST_ERR_CALLBACK : MDIST_OK)) return 55;
    return 66;
}

static int32_t merging_step(mdist_replica_t *replica, void *user_data) {
    Case *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    float number = (float)id;
    const mdist_tensor_t argument = tensor_of(&number, MDIST_FLOAT32, 0);
    mdist_tensor_t result;
    const mdist_status_t status = mdist_merge_call(replica, outer_merge, self, &argument, 1, &result, 1, NULL, NULL);
    if (status == MDIST_OK) snprintf(self->notes[id].text, sizeof self->notes[id].text, "the merge went well");
    atomic_fetch_add(&self->done, 1);
    return 0;
}

static void *run_merging_on_thread(void *argument) {
    run_case(argument, merging_step);
    return argument;
}

static void failures_in_merges_and_nested_runs_come_out(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int how = RETURNS; how <= EXITS; ++how) {
            for (int where = IN_MERGE_FUNCTION; where <= IN_NESTED_MERGE; ++where) {
                for (int32_t who = 0; who < (where == IN_NESTED_STEP ? (int32_t)n : 1); ++who) {
                    Case failing = {.strategy = strategy, .who = who, .how = how, .where = where};
                    pthread_t thread;
                    void *returned = &failing;
                    failing.ends_thread = how == EXITS && who != 0;
                    assert_int_equal(pthread_create(&thread, NULL, run_merging_on_thread, &failing), 0);
                    pthread_join(thread, &returned);
                    assert_no_notes(&failing);
                    assert_int_equal(failing.done, n - (how == EXITS));
                    if (how == EXITS && who == 0) {
                        assert_null(returned);
                    } else {
                        assert_int_equal(failing.status, MDIST_ERR_CALLBACK);
                        const int64_t native = where == IN_MERGE_FUNCTION ? 77 : 66;
                        if (how == RETURNS) assert_int_equal(failing.native, native);
                        if (how == RETURNS) assert_string_equal(failing.operation, "mdist_merge_call");
                        if (where != IN_MERGE_FUNCTION) assert_int_equal(failing.inner, MDIST_ERR_CALLBACK);
                        if (where == IN_NESTED_STEP) assert_int_equal(failing.inner_replica, who);
                    }
                    assert_usable(strategy);
                }
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

// The merge function reports success, but a replica's thread ended in it. The others must not wait for that replica.
static int32_t swallowing_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                                mdist_value_t **results, size_t result_count, void *user_data) {
    outer_merge(strategy, arguments, argument_count, results, result_count, user_data);
    return 0;
}

static int32_t go_on_after_merge(mdist_replica_t *replica, void *user_data) {
    Case *self = user_data;
    mdist_merge_call(replica, swallowing_merge, self, NULL, 0, NULL, 0, NULL, NULL);
    wait_for_others(self, replica, IN_BARRIER);
    atomic_fetch_add(&self->done, 1);
    return 0;
}

static void nobody_waits_for_a_replica_whose_thread_ended_in_a_nested_step(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(4, NULL);
    for (int i = 0; i < 30; ++i) {
        Case failing = {
            .strategy = strategy, .who = 1 + i % 3, .how = EXITS, .where = IN_NESTED_STEP, .ends_thread = 1};
        run_case(&failing, go_on_after_merge);
        assert_int_equal(failing.status, MDIST_ERR_CALLBACK);
        assert_int_equal(failing.replica, failing.who);
        assert_non_null(strstr(failing.message, "ended its thread"));
        assert_int_equal(failing.done, 3);
        assert_no_notes(&failing);
        assert_usable(strategy);
    }
    mdist_strategy_destroy(strategy);
}

// ---- Collectives that fail.

static int32_t swallow_bad_call(mdist_replica_t *replica, void *user_data) {
    Case *self = user_data;
    float number = 1;
    const int32_t id = mdist_replica_id(replica);
    mdist_buffer_t buffer = buffer_of(&number, MDIST_FLOAT32, 1);
    if (id == self->who) buffer.dtype = 99;
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &error);
    note(&self->notes[id], id == self->who ? MDIST_ERR_INVALID_ARGUMENT : MDIST_ERR_ABORTED, status, &error,
         "bad dtype");
    atomic_fetch_add(&self->done, 1);
    return 0;
}

static void a_failed_collective_fails_the_run_though_the_step_swallows_it(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int32_t who = 0; who < (int32_t)n; ++who) {
            Case failing = {.strategy = strategy, .who = who};
            run_case(&failing, swallow_bad_call);
            assert_int_equal(failing.status, MDIST_ERR_INVALID_ARGUMENT);
            assert_int_equal(failing.replica, who);
            assert_string_equal(failing.operation, "mdist_all_reduce");
            assert_non_null(strstr(failing.message, "99"));
            assert_no_notes(&failing);
            assert_usable(strategy);
        }
        mdist_strategy_destroy(strategy);
    }
}

static int32_t return_why(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const mdist_tensor_t tensor = tensor_of(NULL, MDIST_FLOAT32, 4);
    mdist_replica_set_result(replica, 5, NULL, &tensor, NULL);
    return 3;
}

static void a_step_that_fails_after_a_failed_call_says_which(void **state) {
    (void)state;
    Case failing = {.strategy = make_strategy(1, NULL)};
    run_case(&failing, return_why);
    assert_int_equal(failing.status, MDIST_ERR_CALLBACK);
    assert_int_equal(failing.native, 3);
    assert_non_null(strstr(failing.message, "mdist_replica_set_result"));
    mdist_strategy_destroy(failing.strategy);
}

static int32_t leave_early(mdist_replica_t *replica, void *user_data) {
    Case *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    note(&self->notes[id], MDIST_OK, mdist_barrier(replica, NULL, &error), &error, "the first barrier");
    if (id == self->who) return 0;
    const mdist_status_t status = self->where == IN_MERGE
                                      ? mdist_merge_call(replica, merge_nothing, NULL, NULL, 0, NULL, 0, NULL, &error)
                                      : mdist_barrier(replica, NULL, &error);
    if (status != MDIST_ERR_ABORTED) note(&self->notes[id], MDIST_ERR_MISMATCH, status, &error, "one has left");
    mdist_error_free(error);
    return 0;
}

static void a_replica_that_leaves_early_is_a_mismatch_and_no_timeout(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL); // its timeout is ten minutes
        for (int32_t who = 0; who < (int32_t)n; ++who) {
            for (int where = IN_BARRIER; where <= IN_MERGE; where += IN_MERGE) {
                Case failing = {.strategy = strategy, .who = who, .where = where};
                char left[32];
                snprintf(left, sizeof left, "replica %d returned", who);
                run_case(&failing, leave_early);
                assert_int_equal(failing.status, MDIST_ERR_MISMATCH);
                assert_non_null(strstr(failing.message, left));
                assert_non_null(strstr(failing.message, where == IN_MERGE ? "mdist_merge_call" : "mdist_barrier"));
                assert_string_equal(failing.reason, "step_returned");
                assert_int_equal(failing.replica, who);
                assert_no_notes(&failing);
                assert_usable(strategy);
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

// ---- Timeouts, after which the strategy stays aborted.

typedef struct Late {
    Case base;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned back;
    uint64_t limit_ns; // of the collectives; 0: that of the run
} Late;

static int32_t come_late(mdist_replica_t *replica, void *user_data) {
    Late *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = self->limit_ns};
    mdist_error_t *error = NULL;
    if (self->limit_ns != 0)
        note(&self->base.notes[id], MDIST_OK, mdist_barrier(replica, NULL, &error), &error, "all together");
    pthread_mutex_lock(&self->lock);
    while (id == self->base.who && self->back < mdist_replica_count(replica) - 1)
        pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
    const mdist_status_t status = self->base.where == IN_MERGE ? mdist_merge_call(replica, merge_nothing, NULL, NULL, 0,
                                                                                  NULL, 0, &options, &error)
                                                               : mdist_barrier(replica, &options, &error);
    if (id == self->base.who) {
        note(&self->base.notes[id], MDIST_ERR_ABORTED, status, &error, "too late");
    } else if (status != MDIST_ERR_ABORTED) {
        note(&self->base.notes[id], MDIST_ERR_TIMEOUT, status, &error, "waiting in vain");
    }
    mdist_error_free(error);
    pthread_mutex_lock(&self->lock);
    self->back += 1;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return 0;
}

static void begin_late(Late *late, uint32_t n, int32_t who, uint64_t limit_ns) {
    *late = (Late){.base = {.strategy = make_strategy(n, NULL), .who = who, .where = who % 2 ? IN_MERGE : 0},
                   .limit_ns = limit_ns};
    pthread_mutex_init(&late->lock, NULL);
    pthread_cond_init(&late->changed, NULL);
}

static void end_late(Late *late) {
    mdist_strategy_destroy(late->base.strategy);
    pthread_cond_destroy(&late->changed);
    pthread_mutex_destroy(&late->lock);
}

/// Tries one limit after another, until only one replica is too late.
static void run_late(Late *late, uint32_t n, int32_t who) {
    static const uint64_t limits_ns[] = {50000000, 1000000000, 20000000000};
    for (size_t i = 0; i < sizeof limits_ns / sizeof limits_ns[0]; ++i) {
        begin_late(late, n, who, limits_ns[i]);
        run_case(&late->base, come_late);
        assert_no_notes(&late->base);
        assert_int_equal(late->base.status, MDIST_ERR_TIMEOUT);
        if (late->base.replica == who) return;
        end_late(late);
    }
    fail_msg("another replica than %d is named", who);
}

static void a_replica_that_never_comes_is_a_timeout_for_good(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 4; ++n) {
        for (int32_t who = 0; who < (int32_t)n; ++who) {
            Late late;
            char name[48];
            run_late(&late, n, who);
            assert_string_equal(late.base.operation, who % 2 ? "mdist_merge_call" : "mdist_barrier");
            snprintf(name, sizeof name, "for replica %d, which has entered 1", who);
            assert_non_null(strstr(late.base.message, name));

            mdist_error_t *error = NULL;
            float x = 0;
            for (int again = 0; again < 2; ++again) {
                assert_int_equal(mdist_run(late.base.strategy, sum_ids, NULL, NULL, &error), MDIST_ERR_ABORTED);
                WORDS(error, name);
                assert_int_equal(mdist_error_replica(error), who);
                mdist_error_free(error);
            }
            mdist_value_t *value = make_value(&x, MDIST_FLOAT32, 0), *reduced = NULL;
            assert_int_equal(mdist_strategy_reduce(late.base.strategy, MDIST_MEAN, value, &reduced, NULL, NULL),
                             MDIST_ERR_ABORTED);
            mdist_value_destroy(value);
            assert_int_equal(mdist_strategy_replica_count(late.base.strategy), n);
            end_late(&late);
        }
    }
}

static void the_timeout_of_a_run_is_that_of_its_collectives(void **state) {
    (void)state;
    Late late;
    begin_late(&late, 3, 0, 0);
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = 50000000};
    mdist_error_t *error = NULL;
    const mdist_status_t status =
        mdist_run(late.base.strategy, come_late, &late,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = options.timeout_ns}, &error);
    assert_no_notes(&late.base);
    assert_int_equal(status, MDIST_ERR_TIMEOUT);
    WORDS(error, "50 ms");
    mdist_error_free(error);
    end_late(&late);
}

static int32_t end_thread_of_replica_0(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    if (mdist_replica_id(replica) == 0) pthread_exit(NULL);
    mdist_barrier(replica, NULL, NULL);
    return 0;
}

static pthread_key_t gone_key;

static void post(void *semaphore) {
    sem_post(semaphore); // after the thread has unwound
}

typedef struct Caller {
    mdist_strategy_t *strategy;
    sem_t gone;
} Caller;

static void *run_and_end(void *argument) {
    Caller *self = argument;
    pthread_setspecific(gone_key, &self->gone);
    mdist_run(self->strategy, end_thread_of_replica_0, NULL, NULL, NULL);
    return NULL;
}

/// The C++ runtime unwinds detached threads differently.
static void a_detached_thread_may_end_in_its_step(void **state) {
    (void)state;
    Caller caller = {.strategy = make_strategy(2, NULL)};
    assert_int_equal(sem_init(&caller.gone, 0, 0), 0);
    assert_int_equal(pthread_key_create(&gone_key, post), 0);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, &detached, run_and_end, &caller), 0);
    while (sem_wait(&caller.gone) != 0) continue;
    assert_usable(caller.strategy);
    pthread_attr_destroy(&detached);
    pthread_key_delete(gone_key);
    sem_destroy(&caller.gone);
    mdist_strategy_destroy(caller.strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_returns_non_zero_releases_the_others),
        cmocka_unit_test(of_two_that_fail_one_is_told),
        cmocka_unit_test(a_step_that_ends_its_thread_releases_the_others),
        cmocka_unit_test(executor_caller_stops_at_the_first_failure),
        cmocka_unit_test(failures_in_merges_and_nested_runs_come_out),
        cmocka_unit_test(nobody_waits_for_a_replica_whose_thread_ended_in_a_nested_step),
        cmocka_unit_test(a_failed_collective_fails_the_run_though_the_step_swallows_it),
        cmocka_unit_test(a_step_that_fails_after_a_failed_call_says_which),
        cmocka_unit_test(a_replica_that_leaves_early_is_a_mismatch_and_no_timeout),
        cmocka_unit_test(a_detached_thread_may_end_in_its_step),
        cmocka_unit_test(a_replica_that_never_comes_is_a_timeout_for_good),
        cmocka_unit_test(the_timeout_of_a_run_is_that_of_its_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
