// SPDX-License-Identifier: Apache-2.0
// What the Julia module does, done in C: the same calls in the same order, on threads that change. No callbacks; runs
// in brackets; collectives started and tested; merges on threads of their own. See src/julia/src.
#include "julia_run.h"
#include "started.h"

#include <stdatomic.h>

static void every_slice_may_run_on_another_thread(void **state) {
    (void)state;
    for (uint32_t replicas = 1; replicas <= MOST_REPLICAS; ++replicas) {
        for (unsigned threads = 1; threads <= MOST_THREADS; ++threads) { // one thread for five replicas, too
            Run *run = make_run(replicas, threads, 5);
            elsewhere(begin_run, run);
            assert_status(run, MDIST_OK);
            run_tasks(run->tasks, replicas, threads);
            elsewhere(end_run, run);
            assert_no_notes(run);
            assert_status(run, MDIST_OK);
            mdist_tensor_t tensor;
            mdist_error_t *error = NULL;
            OK(mdist_value_tensor(run->result, replicas - 1, &tensor, &error));
            assert_float_equal(((float *)tensor.data)[8], sum_of(replicas, 4, 8), 0);
            elsewhere(drop_run, run);
        }
    }
}

// ---- Steps that throw.

static Slice throw_soon(Task *self) {
    if (self->stage == ENTER) return enter(self);
    mdist_error_t *error = NULL;
    wrong(self, MDIST_OK, mdist_replica_exit(self->replica, 1, &error), &error, "exit");
    wrong(self, MDIST_ERR_BAD_HANDLE, mdist_replica_exit(self->replica, 1, &error), &error, "exit again");
    return ENDED;
}

/// The others: their collective fails, and they leave with the code of a failed step.
static Slice be_released(Task *self) {
    if (self->stage == ENTER) return enter(self);
    const mdist_buffer_t buffer = buffer_of(self->x, MDIST_FLOAT32, ELEMENTS);
    int32_t done = 0;
    mdist_status_t status = MDIST_OK;
    if (self->work)
        status = mdist_work_test(self->work, &done, NULL);
    else // refused already, if the guilty one was faster
        status = start_all_reduce(self->replica, MDIST_SUM, &buffer, &buffer, 1, &self->work, &defaults, NULL);
    if (status == MDIST_OK && !done) return YIELDED;
    if (status == MDIST_OK) snprintf(self->note.text, sizeof self->note.text, "done without the others");
    return leave(self, 1);
}

static void a_step_that_fails_releases_the_others(void **state) {
    (void)state;
    for (uint32_t guilty = 0; guilty < 3; ++guilty) {
        Run *run = make_run(3, 2, 1);
        for (uint32_t i = 0; i < 3; ++i) run->tasks[i].slice = i == guilty ? throw_soon : be_released;
        begin_run(run);
        run_tasks(run->tasks, 3, 2);
        end_run(run);
        assert_status(run, MDIST_ERR_CALLBACK);
        assert_int_equal(mdist_error_replica(run->error), guilty);
        assert_int_equal(mdist_error_native(run->error), 1);
        mdist_error_free(run->error);
        run->error = NULL;
        for (uint32_t i = 0; i < 3; ++i) {
            if (i != guilty) assert_string_equal(run->tasks[i].note.text, "");
            run->tasks[i] = (Task){.slice = perform, .strategy = run->strategy, .local = i, .rounds = 1};
        }
        mdist_value_destroy(run->argument);
        begin_run(run);
        run_tasks(run->tasks, 3, 2);
        end_run(run);
        assert_no_notes(run);
        assert_status(run, MDIST_OK);
        drop_run(run);
    }
}

static atomic_int forgot;

static Slice forget_work(Task *self) {
    if (self->stage != TEST) return perform(self);
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_replica_exit(self->replica, 0, &error);
    if (strcmp(mdist_error_reason(error), "work_under_way") != 0)
        snprintf(self->note.text, sizeof self->note.text, "reason %s", mdist_error_reason(error));
    wrong(self, MDIST_ERR_FAILED_PRECONDITION, status, &error, "exit");
    mdist_work_destroy(self->work);
    atomic_store(&forgot, 1);
    return ENDED;
}

static Slice stay_away(Task *self) {
    if (self->stage == ENTER) return enter(self);
    return atomic_load(&forgot) ? leave(self, 0) : YIELDED;
}

static void work_that_nobody_waits_for_fails_the_run(void **state) {
    (void)state;
    Run *run = make_run(2, 2, 1);
    run->tasks[0].slice = forget_work;
    run->tasks[1].slice = stay_away;
    begin_run(run);
    run_tasks(run->tasks, 2, 2);
    end_run(run);
    assert_no_notes(run);
    assert_status(run, MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(run->error), "work_under_way");
    mdist_error_free(run->error);
    drop_run(run);
}

// ---- Merges: they block, so each replica has a thread.

typedef struct Merging {
    mdist_strategy_t *strategy;
    uint32_t local;
    int32_t code;
    float mine;
    mdist_status_t ended; // what mdist_merge_end gave
    Note note;
} Merging;

/// Enters, merges to the sum of all, leaves. Replica 0 fails the merge if it has a code.
static void *merge_in_step(void *argument) {
    Merging *self = argument;
    mdist_replica_t *replica = NULL;
    mdist_error_t *error = NULL;
    mdist_value_t *regrouped = NULL, *sum = NULL;
    mdist_tensor_t result;
    const mdist_tensor_t mine = tensor_of(&self->mine, MDIST_FLOAT32, 1);
    if (note(&self->note, MDIST_OK, mdist_replica_enter(self->strategy, self->local, &replica, &error), &error,
             "enter"))
        return NULL;
    note(&self->note, MDIST_OK, mdist_merge_begin(replica, &mine, 1, &regrouped, &defaults, &error), &error, "begin");
    if (self->local == 0)
        note(&self->note, MDIST_OK,
             mdist_strategy_reduce_to(self->strategy, MDIST_SUM, &regrouped, (const char *const[]){""}, 1, &sum,
                                      &defaults, &error),
             &error, "reduce_to");
    self->ended = mdist_merge_end(replica, self->code, &sum, &result, 1, &error);
    mdist_error_free(error);
    error = NULL;
    if (self->ended == MDIST_OK) self->mine = *(float *)result.data;
    mdist_value_destroy(regrouped);
    mdist_value_destroy(sum);
    note(&self->note, MDIST_OK, mdist_replica_exit(replica, self->ended != MDIST_OK, &error), &error, "exit");
    return NULL;
}

static mdist_status_t merge_of_three(mdist_strategy_t *strategy, int32_t code, Merging parts[3],
                                     mdist_error_t **error) {
    pthread_t threads[3];
    const mdist_status_t status =
        mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = defaults.timeout_ns}, error);
    if (status != MDIST_OK) return status;
    for (uint32_t i = 0; i < 3; ++i) {
        parts[i] = (Merging){.strategy = strategy, .local = i, .mine = (float)(i + 1), .code = i == 0 ? code : 0};
        if (pthread_create(&threads[i], NULL, merge_in_step, &parts[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    return mdist_run_end(strategy, NULL, 0, error);
}

static void merges_begin_and_end(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(3, "caller");
    mdist_error_t *error = NULL;
    Merging parts[3];
    for (int again = 0; again < 2; ++again) {
        FAILS(MDIST_ERR_CALLBACK, merge_of_three(strategy, 1, parts, &error));
        for (int i = 0; i < 3; ++i) assert_int_not_equal(parts[i].ended, MDIST_OK);
        OK(merge_of_three(strategy, 0, parts, &error));
        for (int i = 0; i < 3; ++i) {
            assert_string_equal(parts[i].note.text, "");
            assert_float_equal(parts[i].mine, 6, 0);
        }
    }
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slice_may_run_on_another_thread),
        cmocka_unit_test(a_step_that_fails_releases_the_others),
        cmocka_unit_test(work_that_nobody_waits_for_fails_the_run),
        cmocka_unit_test(merges_begin_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
