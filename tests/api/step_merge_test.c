// SPDX-License-Identifier: Apache-2.0
// Merges of entered replicas: in brackets, by mdist_merge_call, with both kinds of runs inside, and merges that fail.
#include "step_support.h"

#include <stdatomic.h>

typedef struct Program {
    mdist_strategy_t *strategy;
    Note notes[MOST_ENTERED];
    int mode;
    int depth;
    atomic_int merges;
    mdist_status_t statuses[MOST_ENTERED];
} Program;

static void assert_no_notes(const Program *self) {
    for (int i = 0; i < MOST_ENTERED; ++i) assert_string_equal(self->notes[i].text, "");
}

static mdist_reduce_op_t sum_or_same(const mdist_strategy_t *strategy) {
    return mdist_strategy_replica_count(strategy) == 1 ? MDIST_MAX : MDIST_SUM; // a plain value has no sum
}

// ---- Arguments and results.

/// Merges three times, with plain, per-replica, mirrored and missing results. Each replica checks its own part.
static int32_t merge_values(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const uint32_t n = mdist_replica_count(replica), id = mdist_replica_id(replica);
    Note *notes = &self->notes[id];
    mdist_error_t *error = NULL;
    for (int again = 0; again < 3; ++again) {
        float x = (float)(id + 1), plain = 42, numbers[MOST_ENTERED];
        int32_t y = (int32_t)id * 10;
        const mdist_tensor_t arguments[2] = {tensor_of(&x, MDIST_FLOAT32, 0), tensor_of(&y, MDIST_INT32, 0)};
        mdist_value_t *values[2] = {(mdist_value_t *)self, (mdist_value_t *)self}, *out[4] = {NULL};
        mdist_tensor_t results[4], seen, tensors[MOST_ENTERED];
        if (note(notes, MDIST_OK, mdist_merge_begin(replica, arguments, 2, values, NULL, &error), &error, "begin"))
            return 1;
        if (id == 0) {
            for (uint32_t i = 0; i < n; ++i) {
                note(notes, MDIST_OK, mdist_value_tensor(values[0], i, &seen, &error), &error, "argument 0");
                if (*(float *)seen.data != (float)(i + 1)) return 2;
                note(notes, MDIST_OK, mdist_value_tensor(values[1], i, &seen, &error), &error, "argument 1");
                if (*(int32_t *)seen.data != (int32_t)i * 10) return 3;
                numbers[i] = (float)i + 100;
                tensors[i] = tensor_of(&numbers[i], MDIST_FLOAT32, 0);
            }
            const mdist_tensor_t tensor = tensor_of(&plain, MDIST_FLOAT32, 0);
            note(notes, MDIST_OK, mdist_value_create(&tensor, &out[0], &error), &error, "plain");
            note(notes, MDIST_OK, mdist_value_per_replica(self->strategy, tensors, n, &out[1], &error), &error, "per");
            note(notes, MDIST_OK,
                 mdist_strategy_reduce_to(self->strategy, sum_or_same(self->strategy), &values[0], NULL, 1, &out[2],
                                          NULL, &error),
                 &error, "reduce_to");
        } else if (values[0] != NULL || values[1] != NULL) {
            return 4;
        }
        if (note(notes, MDIST_OK, mdist_merge_end(replica, 0, id == 0 ? out : NULL, results, 4, &error), &error, "end"))
            return 5;
        for (int i = 0; id == 0 && i < 4; ++i) {
            // The values still belong to replica 0.
            if (i < 3) note(notes, MDIST_OK, mdist_value_tensor(out[i], 0, &seen, &error), &error, "kept");
            mdist_value_destroy(out[i]);
            if (i < 2) mdist_value_destroy(values[i]);
        }
        if (*(float *)results[0].data != 42 || *(float *)results[1].data != (float)(100 + id)) return 6;
        if (*(float *)results[2].data != (float)(n * (n + 1) / 2)) return 7;
        if (results[3].data != NULL || results[3].dtype != 0) return 8;
        if (note(notes, MDIST_OK, mdist_barrier(replica, NULL, &error), &error, "barrier")) return 9;
    }
    return 0;
}

static void each_replica_receives_its_own_part(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 6; ++n) {
        Program program = {.strategy = make_strategy(n, n % 2 == 0 ? "caller" : NULL)};
        const mdist_status_t status = run_own(program.strategy, merge_values, &program, NULL, &error);
        assert_no_notes(&program);
        if (status != MDIST_OK) fail_msg("%s", mdist_error_message(error));
        mdist_strategy_destroy(program.strategy);
    }
}

// ---- Runs inside merges.

static int32_t nested(mdist_replica_t *replica, void *user_data);

/// Computes x = 1 + the sum over all replicas of x one level deeper.
static mdist_status_t deeper(Program *self, mdist_replica_t *replica, int64_t *x) {
    const uint32_t id = mdist_replica_id(replica);
    Program inner = {.strategy = self->strategy, .mode = self->mode, .depth = self->depth + 1};
    mdist_value_t *out = NULL, *sum = NULL;
    mdist_tensor_t result;
    mdist_error_t *error = NULL;
    if (note(&self->notes[id], MDIST_OK, mdist_merge_begin(replica, NULL, 0, NULL, NULL, &error), &error, "begin"))
        return -1;
    if (id == 0) {
        const int own = (self->mode >> self->depth) & 1;
        const mdist_run_io_t io = {.struct_size = sizeof io, .results = &out, .result_count = 1};
        note(&self->notes[0], MDIST_OK, (own ? run_own : mdist_run)(self->strategy, nested, &inner, &io, &error),
             &error, "run");
        for (int i = 0; i < MOST_ENTERED; ++i)
            if (inner.notes[i].text[0] != '\0') self->notes[i] = inner.notes[i];
        note(&self->notes[0], MDIST_OK,
             mdist_strategy_reduce_to(self->strategy, sum_or_same(self->strategy), &out, NULL, 1, &sum, NULL, &error),
             &error, "sum");
    }
    note(&self->notes[id], MDIST_OK, mdist_merge_end(replica, 0, &sum, &result, 1, &error), &error, "end");
    if (self->notes[id].text[0] == '\0') *x = 1 + *(int64_t *)result.data;
    mdist_value_destroy(out);
    mdist_value_destroy(sum);
    return self->notes[id].text[0] == '\0' ? MDIST_OK : -1;
}

static int32_t nested(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    int64_t x = mdist_replica_id(replica);
    // Steps of mdist_run merge by functions. Only entered replicas have merges in brackets.
    const int own = self->depth == 0 || ((self->mode >> (self->depth - 1)) & 1);
    if (own && self->depth < 3 && deeper(self, replica, &x) != MDIST_OK) return 1;
    if (sum_of_ones(replica, NULL) != 0) return 2;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_INT64, 0);
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) == MDIST_OK ? 0 : 3;
}

static int64_t model(int mode, int depth, uint32_t n, uint32_t id) {
    if (depth == 3 || (depth != 0 && !((mode >> (depth - 1)) & 1))) return id;
    int64_t sum = 1;
    for (uint32_t r = 0; r < n; ++r) sum += model(mode, depth + 1, n, r);
    return sum;
}

static void runs_of_both_kinds_nest_in_merges(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int mode = 0; mode < 8; ++mode) {
            Program program = {.strategy = strategy, .mode = mode};
            mdist_value_t *result = NULL;
            mdist_tensor_t tensor;
            const mdist_status_t status =
                run_own(strategy, nested, &program,
                        &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error);
            assert_no_notes(&program);
            if (status != MDIST_OK) fail_msg("%s", mdist_error_message(error));
            OK(mdist_value_tensor(result, n - 1, &tensor, &error));
            assert_int_equal(*(int64_t *)tensor.data, model(mode, 0, n, n - 1));
            mdist_value_destroy(result);
        }
        mdist_strategy_destroy(strategy);
    }
}

static int32_t fail_inside(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_replica_id(replica) == 1 ? 7 : mdist_barrier(replica, NULL, NULL) == MDIST_ERR_ABORTED ? 0 : 8;
}

/// A nested run fails, and the merge ignores it. The outer step continues.
static int32_t forgive(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    note(&self->notes[id], MDIST_OK, mdist_merge_begin(replica, NULL, 0, NULL, NULL, &error), &error, "begin");
    if (id == 0) {
        note(&self->notes[0], MDIST_ERR_CALLBACK,
             self->mode ? run_own(self->strategy, fail_inside, NULL, NULL, &error)
                        : mdist_run(self->strategy, fail_inside, NULL, NULL, &error),
             &error, "nested");
    }
    note(&self->notes[id], MDIST_OK, mdist_merge_end(replica, 0, NULL, NULL, 0, &error), &error, "end");
    return sum_of_ones(replica, NULL);
}

static void a_nested_run_that_fails_may_be_forgiven(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Program program = {.strategy = make_strategy(3, NULL)};
    for (program.mode = 0; program.mode < 2; ++program.mode) {
        OK(run_own(program.strategy, forgive, &program, NULL, &error));
        assert_no_notes(&program);
    }
    expect_runs(program.strategy);
    mdist_strategy_destroy(program.strategy);
}

// ---- Functions that work in a merge, and those that fail.

static void *check_inside(void *argument) {
    Program *self = argument;
    mdist_error_t *error = NULL;
    float rows[3] = {1, 2, 3};
    mdist_buffer_t buffers[3];
    for (int i = 0; i < 3; ++i) buffers[i] = buffer_of(&rows[i], MDIST_FLOAT32, 1);
    note(&self->notes[0], MDIST_OK,
         mdist_strategy_all_reduce(self->strategy, MDIST_SUM, buffers, buffers, 1, NULL, &error), &error,
         "all_reduce in a merge");
    if (rows[2] != 6) snprintf(self->notes[0].text, sizeof self->notes[0].text, "a wrong sum");
    note(&self->notes[0], MDIST_OK, mdist_run(self->strategy, sum_of_ones, NULL, NULL, &error), &error,
         "run in a merge");
    return NULL;
}

static void *begin_merge(void *argument) {
    return mdist_merge_begin(argument, NULL, 0, NULL, NULL, NULL) == MDIST_OK ? argument : NULL;
}

/// Begins the merge on all replicas. This thread begins for replica 0.
static void all_begin(Entered *run) {
    pthread_t threads[MOST_ENTERED];
    mdist_error_t *error = NULL;
    for (uint32_t i = 1; i < run->n; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, begin_merge, run->replicas[i]), 0);
    OK(mdist_merge_begin(run->replicas[0], NULL, 0, NULL, NULL, &error));
    for (uint32_t i = 1; i < run->n; ++i) {
        void *returned = NULL;
        pthread_join(threads[i], &returned);
        assert_non_null(returned);
    }
}

static void in_a_merge_any_thread_is_in_cross_replica_context(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Program program = {.strategy = make_strategy(3, NULL)};
    Entered run;
    pthread_t thread;
    float number = 0;
    mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    begin_and_enter(&run, program.strategy);
    all_begin(&run);
    check_inside(&program);
    assert_int_equal(pthread_create(&thread, NULL, check_inside, &program), 0);
    pthread_join(thread, NULL);
    assert_no_notes(&program);
    for (int i = 0; i < 3; ++i) {
        FAILS(MDIST_ERR_WRONG_CONTEXT, mdist_barrier(run.replicas[i], NULL, &error));
        FAILS(MDIST_ERR_WRONG_CONTEXT, mdist_replica_set_result(run.replicas[i], 0, NULL, &tensor, &error));
        FAILS(MDIST_ERR_WRONG_CONTEXT, mdist_merge_begin(run.replicas[i], NULL, 0, NULL, NULL, &error));
    }
    // An open run keeps the merge open.
    OK(mdist_run_begin(program.strategy, NULL, &error));
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_merge_end(run.replicas[0], 0, NULL, NULL, 0, error_out), "busy");
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(run.replicas[0], 0, error_out), "busy");
    end_with(program.strategy, MDIST_ERR_FAILED_PRECONDITION, "not_entered");
    for (int i = 0; i < 3; ++i) OK(mdist_merge_end(run.replicas[i], 0, NULL, NULL, 0, &error));
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_merge_end(run.replicas[1], 0, NULL, NULL, 0, error_out), "no_merge");
    exit_all(&run);
    end_with(program.strategy, MDIST_OK, "");
    expect_runs(program.strategy);
    mdist_strategy_destroy(program.strategy);
}

// ---- Merges that fail.

enum { CODE, COUNT, STALE, NO_RESULTS, STRANGE, FAULTS };

/// Closes the merge wrongly on replica 0. For COUNT and NO_RESULTS, replica `depth` does it.
static int32_t merge_wrongly(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    mdist_tensor_t results[3];
    float number = 0;
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0), four[4] = {tensor, tensor, tensor, tensor};
    mdist_value_t *value = NULL;
    mdist_strategy_t *other = NULL;
    note(&self->notes[id], MDIST_OK, mdist_merge_begin(replica, NULL, 0, NULL, NULL, &error), &error, "begin");
    const int odd = id == self->depth;
    size_t count = 1;
    int32_t code = 0;
    if (odd && self->mode == CODE) code = 99;
    if (odd && self->mode == COUNT) count = 2;
    mdist_value_t *values[2] = {NULL, NULL};
    if (odd && (self->mode == STALE || self->mode == STRANGE)) {
        if (self->mode == STALE)
            mdist_value_create(&tensor, &value, NULL);
        else {
            other = make_strategy(4, NULL);
            mdist_value_per_replica(other, four, 4, &value, NULL);
        }
        values[0] = value;
        if (self->mode == STALE) mdist_value_destroy(value);
    }
    self->statuses[id] =
        mdist_merge_end(replica, code, values, odd && self->mode == NO_RESULTS ? NULL : results, count, &error);
    mdist_error_free(error);
    if (self->mode == STRANGE && value != NULL) mdist_value_destroy(value);
    mdist_strategy_destroy(other);
    return 0; // the status is ignored; the run fails anyway
}

static void what_goes_wrong_in_closing_a_merge_fails_the_run(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const mdist_status_t wanted[FAULTS] = {MDIST_ERR_CALLBACK, MDIST_ERR_MISMATCH, MDIST_ERR_BAD_HANDLE,
                                           MDIST_ERR_INVALID_ARGUMENT, MDIST_ERR_CALLBACK};
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int mode = 0; mode < FAULTS; ++mode) {
        for (int who = 0; who < 3; ++who) {
            if (who != 0 && mode != COUNT && mode != NO_RESULTS) continue;
            Program program = {.strategy = strategy, .mode = mode, .depth = who};
            const mdist_status_t status = run_own(strategy, merge_wrongly, &program, NULL, &error);
            assert_no_notes(&program);
            if (status != wanted[mode])
                fail_msg("fault %d of replica %d: the run gave %s: %s", mode, who, mdist_status_name(status),
                         mdist_error_message(error));
            if (mode == CODE) assert_int_equal(mdist_error_native(error), 99);
            mdist_error_free(error);
            // The replica at fault gets the error. With two different counts, either may be at fault.
            if (mode == COUNT && who == 0) continue;
            assert_int_equal(program.statuses[who], wanted[mode]);
            for (int i = 0; i < 3; ++i)
                if (i != who) assert_int_equal(program.statuses[i], who == 0 ? MDIST_ERR_ABORTED : MDIST_OK);
        }
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static int32_t leave_in_merge(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    note(&self->notes[id], MDIST_OK, mdist_merge_begin(replica, NULL, 0, NULL, NULL, &error), &error, "begin");
    if (id == self->depth) {
        // A replica that leaves with a code gives the cause itself, so the call succeeds.
        note(&self->notes[id], self->mode == 0 ? MDIST_ERR_FAILED_PRECONDITION : MDIST_OK,
             mdist_replica_exit(replica, self->mode, &error), &error, "exit");
        if (mdist_replica_id(replica) != MDIST_NONE) return 1; // it must have left in both cases
        return 0;
    }
    if (id == 0 && self->depth != 0) // a nested run does not depend on the other replica, which left
        note(&self->notes[0], MDIST_OK, run_own(self->strategy, sum_of_ones, NULL, NULL, &error), &error, "nested");
    self->statuses[id] = mdist_merge_end(replica, 0, NULL, NULL, 0, NULL);
    return 0;
}

static void *leave_in_merge_thread(void *argument) {
    OwnThread *self = argument;
    mdist_replica_t *replica = NULL;
    self->status = mdist_replica_enter(self->strategy, self->local, &replica, NULL);
    leave_in_merge(replica, self->user_data);
    if (mdist_replica_id(replica) != MDIST_NONE) mdist_replica_exit(replica, 0, NULL);
    return NULL;
}

static void who_leaves_with_a_merge_open_fails_the_run(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int who = 0; who < 3; ++who) {
        for (int code = 0; code < 2; ++code) {
            Program program = {.strategy = strategy, .depth = who, .mode = code};
            pthread_t threads[3];
            OwnThread own[3];
            OK(mdist_run_begin(strategy, NULL, &error));
            for (uint32_t i = 0; i < 3; ++i) {
                own[i] = (OwnThread){strategy, i, NULL, &program, MDIST_OK};
                assert_int_equal(pthread_create(&threads[i], NULL, leave_in_merge_thread, &own[i]), 0);
            }
            for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
            assert_no_notes(&program);
            assert_int_equal(mdist_run_end(strategy, NULL, 0, &error),
                             code == 0 ? MDIST_ERR_FAILED_PRECONDITION : MDIST_ERR_CALLBACK);
            assert_string_equal(mdist_error_reason(error), code == 0 ? "merge_open" : "");
            assert_int_equal(mdist_error_native(error), code);
            assert_int_equal(mdist_error_replica(error), who);
            mdist_error_free(error);
            for (int i = 0; who == 0 && i < 3; ++i)
                assert_int_equal(program.statuses[i], i == 0 ? 0 : MDIST_ERR_ABORTED);
        }
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static int32_t disagree(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    float number = 1;
    int32_t whole = 1;
    const mdist_tensor_t arguments[2] = {
        id == 1 && self->mode == 0 ? tensor_of(&whole, MDIST_INT32, 0) : tensor_of(&number, MDIST_FLOAT32, 0),
        tensor_of(&number, MDIST_FLOAT32, 0)};
    mdist_value_t *values[2];
    const size_t count = id == 1 && self->mode == 1 ? 2 : 1;
    if (id == 1 && self->mode == 2)
        self->statuses[id] = mdist_barrier(replica, NULL, NULL);
    else
        self->statuses[id] = mdist_merge_begin(replica, arguments, count, values, NULL, NULL);
    return 0;
}

static void replicas_that_disagree_about_a_merge_are_told_so(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int mode = 0; mode < 3; ++mode) {
        Program program = {.strategy = strategy, .mode = mode};
        FAILS(MDIST_ERR_MISMATCH, run_own(strategy, disagree, &program, NULL, &error));
        for (int i = 0; i < 3; ++i) assert_int_equal(program.statuses[i], MDIST_ERR_MISMATCH);
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

// ---- mdist_merge_call on the caller's own threads.

static int32_t merge_function(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                              mdist_value_t **results, size_t result_count, void *user_data) {
    Program *self = user_data;
    mdist_error_t *error = NULL;
    atomic_fetch_add(&self->merges, 1);
    if (strategy != self->strategy || argument_count != 1 || result_count != 1) return 1;
    if (self->mode == 1) return 66;
    if (self->mode == 2) pthread_exit(NULL);
    if (self->mode == 3) {
        note(&self->notes[0], MDIST_OK, mdist_run(strategy, sum_of_ones, NULL, NULL, &error), &error, "run");
    }
    return mdist_strategy_reduce(strategy, sum_or_same(strategy), arguments[0], results, NULL, NULL) == MDIST_OK ? 0
                                                                                                                 : 2;
}

static int32_t call_merge(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    float x = (float)(id + 1);
    const float n = (float)mdist_replica_count(replica);
    const mdist_tensor_t argument = tensor_of(&x, MDIST_FLOAT32, 0);
    mdist_tensor_t result;
    for (int again = 0; again < 2; ++again) {
        self->statuses[id] = mdist_merge_call(replica, merge_function, self, &argument, 1, &result, 1, NULL, NULL);
        if (self->statuses[id] != MDIST_OK) return 0;
        if (*(float *)result.data != n * (n + 1) / 2) return 5;
    }
    return 0;
}

static void *exit_replica(void *argument) {
    mdist_replica_exit(argument, 0, NULL);
    return NULL;
}

static void leave_for_thread(void *replica) {
    // Another thread leaves, since this one is ending. The handle alone identifies the replica.
    pthread_t thread;
    if (pthread_create(&thread, NULL, exit_replica, replica) == 0) pthread_join(thread, NULL);
}

static void *call_merge_thread(void *argument) {
    OwnThread *self = argument;
    mdist_replica_t *replica = NULL;
    self->status = mdist_replica_enter(self->strategy, self->local, &replica, NULL);
    pthread_cleanup_push(leave_for_thread, replica);
    call_merge(replica, self->user_data);
    pthread_cleanup_pop(1);
    return self;
}

static void entered_replicas_merge_by_functions_too(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const mdist_status_t wanted[4] = {MDIST_OK, MDIST_ERR_CALLBACK, MDIST_ERR_CALLBACK, MDIST_OK};
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int mode = 0; mode < 4; ++mode) {
            Program program = {.strategy = strategy, .mode = mode};
            pthread_t threads[4];
            OwnThread own[4];
            OK(mdist_run_begin(strategy, NULL, &error));
            for (uint32_t i = 0; i < n; ++i) {
                own[i] = (OwnThread){strategy, i, NULL, &program, MDIST_OK};
                assert_int_equal(pthread_create(&threads[i], NULL, call_merge_thread, &own[i]), 0);
            }
            for (uint32_t i = 0; i < n; ++i) {
                void *returned = NULL;
                pthread_join(threads[i], &returned);
                assert_true((returned == NULL) == (mode == 2 && i == 0));
            }
            const mdist_status_t status = mdist_run_end(strategy, NULL, 0, &error);
            if (status != wanted[mode])
                fail_msg("mode %d: %s: %s", mode, mdist_status_name(status), mdist_error_message(error));
            if (mode == 1) assert_int_equal(mdist_error_native(error), 66);
            if (mode == 2) WORDS(error, "ended its thread");
            mdist_error_free(error);
            error = NULL;
            assert_no_notes(&program);
            assert_int_equal(program.merges, wanted[mode] == MDIST_OK ? 2 : 1);
            for (uint32_t i = 1; i < n; ++i)
                assert_int_equal(program.statuses[i], wanted[mode] == MDIST_OK ? MDIST_OK : MDIST_ERR_ABORTED);
        }
        expect_runs(strategy);
        mdist_strategy_destroy(strategy);
    }
}

/// In a merge function, the replica is in cross-replica context.
static int32_t use_replica(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                           mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    Entered *run = user_data;
    return mdist_barrier(run->replicas[0], NULL, NULL) == MDIST_ERR_WRONG_CONTEXT ? 0 : 44;
}

static void a_merge_function_is_no_step(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Entered run;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    begin_and_enter(&run, strategy);
    OK(mdist_merge_call(run.replicas[0], use_replica, &run, NULL, 0, NULL, 0, NULL, &error));
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

/// A merge function may not open a run, since it could leave it open.
static int32_t begin_inside(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                            mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return mdist_run_begin(strategy, NULL, NULL) == MDIST_ERR_WRONG_CONTEXT ? 0 : 44;
}

static void a_merge_function_opens_no_run(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Entered run;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    begin_and_enter(&run, strategy);
    OK(mdist_merge_call(run.replicas[0], begin_inside, NULL, NULL, 0, NULL, 0, NULL, &error));
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_replica_receives_its_own_part),
        cmocka_unit_test(runs_of_both_kinds_nest_in_merges),
        cmocka_unit_test(a_nested_run_that_fails_may_be_forgiven),
        cmocka_unit_test(in_a_merge_any_thread_is_in_cross_replica_context),
        cmocka_unit_test(what_goes_wrong_in_closing_a_merge_fails_the_run),
        cmocka_unit_test(who_leaves_with_a_merge_open_fails_the_run),
        cmocka_unit_test(replicas_that_disagree_about_a_merge_are_told_so),
        cmocka_unit_test(entered_replicas_merge_by_functions_too),
        cmocka_unit_test(a_merge_function_is_no_step),
        cmocka_unit_test(a_merge_function_opens_no_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
