// SPDX-License-Identifier: Apache-2.0
// Merges: the tensors of the replicas as arguments of one function, and its results back on the replicas.
#include "mdist_test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST = 8 };

typedef struct Program {
    Note notes[MOST];
    Note merge_note; // written only by the merge function
    pthread_t caller;
    atomic_uint merges;
    int32_t mode;
    float seen[MOST];
    mdist_tensor_t tensors[MOST];
    mdist_strategy_t *strategy;
    mdist_value_t *kept; // a value that the merge gives away; its handle must be invalid afterwards
    int depth;
} Program;

static int32_t wrong(Note *self, const char *what) {
    if (self->text[0] == '\0') snprintf(self->text, sizeof self->text, "%s", what);
    return 77;
}

static void assert_no_notes(const Program *program) {
    for (int i = 0; i < MOST; ++i) assert_string_equal(program->notes[i].text, "");
    assert_string_equal(program->merge_note.text, "");
}

// ---- fn(3): v = 3 + id; s = merge(sum of v); return s + v

static int32_t sum_up(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                      mdist_value_t **results, size_t result_count, void *user_data) {
    Program *self = user_data;
    mdist_error_t *error = NULL;
    atomic_fetch_add(&self->merges, 1);
    if (argument_count != 1 || result_count != 1 || results[0] != NULL) return wrong(&self->merge_note, "counts");
    if (strategy != self->strategy) return wrong(&self->merge_note, "another strategy");
    if (!pthread_equal(pthread_self(), self->caller)) return wrong(&self->merge_note, "not replica 0's thread");
    if (mdist_strategy_replica_count(strategy) > 1) {
        note(&self->merge_note, MDIST_OK,
             mdist_strategy_reduce(strategy, MDIST_SUM, arguments[0], results, NULL, &error), &error,
             "mdist_strategy_reduce");
    } else {
        note(&self->merge_note, MDIST_OK,
             mdist_strategy_reduce(strategy, MDIST_MEAN, arguments[0], results, NULL, &error), &error,
             "mdist_strategy_reduce of one replica");
    }
    self->kept = results[0];
    return 0;
}

static int32_t three_plus_id(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_tensor_t in, sum;
    mdist_error_t *error = NULL;
    if (mdist_replica_argument(replica, 0, NULL, &in, NULL) != MDIST_OK) return 1;
    float v = *(float *)in.data + (float)id;
    const mdist_tensor_t argument = tensor_of(&v, MDIST_FLOAT32, 0);
    if (note(&self->notes[id], MDIST_OK, mdist_merge_call(replica, sum_up, self, &argument, 1, &sum, 1, NULL, &error),
             &error, "merge"))
        return 2;
    float out = *(float *)sum.data + v;
    const mdist_tensor_t result = tensor_of(&out, MDIST_FLOAT32, 0);
    return mdist_replica_set_result(replica, 0, NULL, &result, NULL) == MDIST_OK ? 0 : 3;
}

static void every_replica_receives_the_sum_of_all(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 5; ++n) {
        Program program = {.caller = pthread_self(), .strategy = make_strategy(n, n == 1 ? "caller" : NULL)};
        float three = 3, total = 0;
        mdist_value_t *argument = make_value(&three, MDIST_FLOAT32, 0), *result = NULL;
        for (uint32_t i = 0; i < n; ++i) total += 3 + (float)i;
        OK(mdist_run(program.strategy, three_plus_id, &program,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1,
                                       .results = &result, .result_count = 1},
                     &error));
        assert_no_notes(&program);
        assert_int_equal(program.merges, 1);
        assert_int_equal(mdist_value_kind(program.kept), 0); // given away
        for (uint32_t i = 0; i < n; ++i) {
            mdist_tensor_t tensor;
            OK(mdist_value_tensor(result, i, &tensor, &error));
            assert_true(*(float *)tensor.data == total + 3 + (float)i); // 10 and 11 with two replicas
        }
        mdist_value_destroy(argument);
        mdist_value_destroy(result);
        mdist_strategy_destroy(program.strategy);
    }
}

// ---- Results of every kind, and none.

static int32_t give_kinds(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                          mdist_value_t **results, size_t result_count, void *user_data) {
    Program *self = user_data;
    float numbers[MOST] = {0, 1, 2, 3, 4, 5, 6, 7}, plain = 42, mirrored = 43;
    mdist_tensor_t tensors[MOST];
    const uint32_t n = mdist_strategy_local_replica_count(strategy);
    for (uint32_t i = 0; i < n; ++i) tensors[i] = tensor_of(&numbers[i], MDIST_FLOAT32, 0);
    const mdist_tensor_t one = tensor_of(&plain, MDIST_FLOAT32, 0), copy = tensor_of(&mirrored, MDIST_FLOAT32, 0);
    if (argument_count != 2 || result_count != 5) return wrong(&self->merge_note, "counts");
    if (mdist_value_per_replica(strategy, tensors, n, &results[0], NULL) != MDIST_OK) return 1;
    if (mdist_value_create(&one, &results[1], NULL) != MDIST_OK) return 2;
    if (mdist_strategy_broadcast(strategy, &copy, &results[2], NULL) != MDIST_OK) return 3;
    results[4] = arguments[1]; // an argument as a result
    for (uint32_t i = 0; i < n; ++i) {
        mdist_tensor_t own;
        if (mdist_value_tensor(arguments[0], i, &own, NULL) != MDIST_OK || *(int32_t *)own.data != (int32_t)i * 100)
            return wrong(&self->merge_note, "arguments out of replica order");
        if (own.shape[0] != i + 1) return wrong(&self->merge_note, "shape of an argument");
    }
    return 0;
}

static int32_t receive_kinds(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    int32_t row[MOST] = {id * 100};
    double last = id + 0.5;
    mdist_tensor_t arguments[2] = {tensor_of(row, MDIST_INT32, (uint64_t)id + 1), tensor_of(&last, MDIST_FLOAT64, 0)};
    mdist_tensor_t results[5];
    mdist_error_t *error = NULL;
    memset(results, 0x55, sizeof results);
    if (note(&self->notes[id], MDIST_OK,
             mdist_merge_call(replica, give_kinds, self, arguments, 2, results, 5, NULL, &error), &error, "merge"))
        return 1;
    if (*(float *)results[0].data != (float)id) return wrong(&self->notes[id], "per-replica result");
    if (*(float *)results[1].data != 42) return wrong(&self->notes[id], "plain result");
    if (*(float *)results[2].data != 43) return wrong(&self->notes[id], "mirrored result");
    if (results[3].data != NULL || results[3].dtype != 0) return wrong(&self->notes[id], "result left alone");
    if (*(double *)results[4].data != last) return wrong(&self->notes[id], "argument handed on");
    return 0;
}

static void results_are_per_replica_plain_mirrored_or_none(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 4; ++n) {
        Program program = {.strategy = make_strategy(n, NULL)};
        OK(mdist_run(program.strategy, receive_kinds, &program, NULL, &error));
        assert_no_notes(&program);
        mdist_strategy_destroy(program.strategy);
    }
}

// ---- Failures.

static int32_t do_nothing(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                          mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    if (user_data != NULL) atomic_fetch_add(&((Program *)user_data)->merges, 1);
    return 0;
}

enum { SOME_MERGE = 1, OTHER_ARGUMENTS, OTHER_RESULTS, OTHER_DTYPES };

static int32_t disagree(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    const int odd = id == 1;
    float x = 0;
    mdist_tensor_t arguments[2] = {tensor_of(&x, MDIST_FLOAT32, 0), tensor_of(&x, MDIST_FLOAT32, 0)}, results[2];
    if (odd && self->mode == SOME_MERGE) return 0;
    if (odd && self->mode == OTHER_DTYPES) arguments[1].dtype = MDIST_INT32;
    mdist_error_t *error = NULL;
    const mdist_status_t status =
        mdist_merge_call(replica, do_nothing, self, arguments, 2 - (odd && self->mode == OTHER_ARGUMENTS), results,
                         2 - (odd && self->mode == OTHER_RESULTS), NULL, &error);
    // If the missing merge was found before this replica merged, the replica gets ABORTED.
    const int late = self->mode == SOME_MERGE && status == MDIST_ERR_ABORTED;
    note(&self->notes[id], late ? MDIST_ERR_ABORTED : MDIST_ERR_MISMATCH, status, &error,
         "a merge that does not match");
    return 0;
}

static void replicas_that_disagree_about_a_merge_are_told_so(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 2; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int mode = SOME_MERGE; mode <= OTHER_DTYPES; ++mode) {
            Program program = {.strategy = strategy, .mode = mode};
            assert_int_equal(mdist_run(strategy, disagree, &program, NULL, &error), MDIST_ERR_MISMATCH);
            WORDS(error, "replica 1");
            // With more than two replicas, any of the others may be named as waiting, or all of them are counted.
            WORDS(error, n == 2 ? "replica 0" : mode == SOME_MERGE ? "while replica " : "replicas called");
            WORDS(error, "mdist_merge_call");
            if (mode == OTHER_DTYPES) WORDS(error, "int32");
            assert_string_equal(mdist_error_operation(error), "mdist_merge_call");
            mdist_error_free(error);
            error = NULL;
            assert_no_notes(&program);
            assert_int_equal(program.merges, 0);
        }
        mdist_strategy_destroy(strategy);
    }
}

static int32_t give_rubbish(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                            mdist_value_t **results, size_t result_count, void *user_data) {
    Program *self = user_data;
    (void)arguments, (void)argument_count, (void)result_count;
    float x = 1;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    if (mdist_value_create(&tensor, &results[0], NULL) != MDIST_OK) return 1;
    self->kept = results[0];
    if (self->mode == 0) {
        results[1] = (mdist_value_t *)strategy;
    } else if (self->mode == 1) {
        results[1] = (mdist_value_t *)(uintptr_t)0x1234;
    } else {
        if (mdist_strategy_broadcast(self->strategy, &tensor, &results[1], NULL) != MDIST_OK) return 2;
    }
    return 0;
}

static int32_t merge_rubbish(mdist_replica_t *replica, void *user_data) {
    mdist_tensor_t results[2] = {tensor_of(NULL, MDIST_INT8, 3), tensor_of(NULL, MDIST_INT8, 3)};
    if (mdist_merge_call(replica, give_rubbish, user_data, NULL, 0, results, 2, NULL, NULL) >= 0) return 1;
    return results[0].shape[0] == 3 && results[1].dtype == MDIST_INT8 ? 0 : 2;
}

static void a_result_that_is_no_fitting_value_fails_the_merge(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int mode = 0; mode < 3; ++mode) {
            Program program = {.mode = mode, .strategy = make_strategy(n + 1, "caller")};
            FAILS(mode < 2 ? MDIST_ERR_BAD_HANDLE : MDIST_ERR_CALLBACK,
                  mdist_run(strategy, merge_rubbish, &program, NULL, &error));
            assert_int_equal(mdist_value_kind(program.kept), 0); // given away anyway
            mdist_strategy_destroy(program.strategy);
        }
        assert_int_equal(mdist_strategy_replica_count(strategy), n);
        mdist_strategy_destroy(strategy);
    }
}

static int32_t merge_badly(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_tensor_t tensor = tensor_of(NULL, MDIST_FLOAT32, 2), no_type = tensor_of(&self->seen, 0, 1);
    const mdist_status_t invalid = MDIST_ERR_INVALID_ARGUMENT;
    mdist_error_t *error = NULL;
    note(&self->notes[id], invalid, mdist_merge_call(replica, NULL, NULL, NULL, 0, NULL, 0, NULL, &error), &error,
         "merge NULL");
    note(&self->notes[id], invalid, mdist_merge_call(replica, do_nothing, NULL, NULL, 1, NULL, 0, NULL, &error), &error,
         "arguments NULL");
    note(&self->notes[id], invalid, mdist_merge_call(replica, do_nothing, NULL, NULL, 0, NULL, 1, NULL, &error), &error,
         "results NULL");
    note(&self->notes[id], invalid, mdist_merge_call(replica, do_nothing, NULL, &tensor, 1, NULL, 0, NULL, &error),
         &error, "data NULL");
    note(&self->notes[id], invalid, mdist_merge_call(replica, do_nothing, NULL, &no_type, 1, NULL, 0, NULL, &error),
         &error, "dtype 0");
    return 0;
}

static void bad_arguments_of_a_merge_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Program program = {.strategy = make_strategy(3, NULL)};
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run(program.strategy, merge_badly, &program, NULL, &error));
    assert_no_notes(&program);
    mdist_strategy_destroy(program.strategy);
}

static int32_t merge_once(mdist_replica_t *replica, void *user_data) {
    Program *self = user_data;
    mdist_error_t *error = NULL;
    const int32_t id = mdist_replica_id(replica);
    note(&self->notes[id], self->mode, mdist_merge_call(replica, do_nothing, self, NULL, 0, NULL, 0, NULL, &error),
         &error, "merge");
    return 0;
}

static void executor_caller_merges_with_one_replica_only(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Program one = {.strategy = make_strategy(1, "caller"), .mode = MDIST_OK};
    OK(mdist_run(one.strategy, merge_once, &one, NULL, &error));
    assert_int_equal(one.merges, 1);
    assert_no_notes(&one);
    mdist_strategy_destroy(one.strategy);
    Program two = {.strategy = make_strategy(2, "caller"), .mode = MDIST_ERR_FAILED_PRECONDITION};
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_run(two.strategy, merge_once, &two, NULL, &error));
    assert_int_equal(two.merges, 0);
    assert_no_notes(&two);
    mdist_strategy_destroy(two.strategy);
}

// ---- A run inside a merge inside a run inside a merge ...

enum { DEPTHS = 4 };

typedef struct Nest {
    Note notes[DEPTHS][MOST];
    atomic_uint steps[DEPTHS], merges[DEPTHS], after[DEPTHS];
} Nest;
typedef struct Level {
    Nest *nest;
    int depth;
} Level;

static int32_t nested_step(mdist_replica_t *replica, void *user_data);

static int32_t nested_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                            mdist_value_t **results, size_t result_count, void *user_data) {
    const Level *self = user_data;
    Level deeper = {self->nest, self->depth + 1};
    (void)argument_count, (void)result_count;
    atomic_fetch_add(&self->nest->merges[self->depth], 1);
    for (int again = 0; again < 2; ++again) {
        mdist_value_destroy(results[0]);
        if (mdist_run(strategy, nested_step, &deeper,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 1,
                                        .results = results, .result_count = 1},
                      NULL) != MDIST_OK)
            return 5;
    }
    return 0;
}

// Adds 1 at each depth. At the deepest, sums over the replicas.
static int32_t nested_step(mdist_replica_t *replica, void *user_data) {
    Level *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    Note *wrong_here = &self->nest->notes[self->depth][id];
    mdist_tensor_t in, out;
    mdist_error_t *error = NULL;
    atomic_fetch_add(&self->nest->steps[self->depth], 1);
    if (note(wrong_here, MDIST_OK, mdist_replica_argument(replica, 0, NULL, &in, &error), &error, "argument")) return 1;
    int64_t number = *(int64_t *)in.data + 1;
    const mdist_tensor_t mine = tensor_of(&number, MDIST_INT64, 0);
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_INT64, 1);
    error = NULL;
    if (self->depth < DEPTHS - 1) {
        if (note(wrong_here, MDIST_OK, mdist_merge_call(replica, nested_merge, self, &mine, 1, &out, 1, NULL, &error),
                 &error, "merge"))
            return 2;
        number = *(int64_t *)out.data;
    }
    error = NULL;
    if (self->depth == DEPTHS - 1 &&
        note(wrong_here, MDIST_OK, mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &error), &error,
             "sum"))
        return 3;
    for (int i = 0; i < 10 * id; ++i) sched_yield(); // later replicas return later
    atomic_fetch_add(&self->nest->after[self->depth], 1);
    const mdist_tensor_t result = tensor_of(&number, MDIST_INT64, 0);
    return mdist_replica_set_result(replica, 0, NULL, &result, NULL) == MDIST_OK ? 0 : 4;
}

static void runs_and_merges_nest(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        int64_t hundred = 100;
        mdist_value_t *argument = make_value(&hundred, MDIST_INT64, 0);
        for (int again = 0; again < 5; ++again) {
            Nest nest = {0};
            Level top = {&nest, 0};
            mdist_value_t *result = NULL;
            OK(mdist_run(strategy, nested_step, &top,
                         &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1,
                                           .results = &result, .result_count = 1},
                         &error));
            for (int depth = 0; depth < DEPTHS; ++depth) {
                for (int i = 0; i < MOST; ++i) assert_string_equal(nest.notes[depth][i].text, "");
                assert_int_equal(nest.steps[depth], n << depth);
                assert_int_equal(nest.after[depth], n << depth); // mdist_run returns after all steps have
                assert_int_equal(nest.merges[depth], depth == DEPTHS - 1 ? 0 : 1 << depth);
            }
            for (uint32_t i = 0; i < n; ++i) {
                mdist_tensor_t tensor;
                OK(mdist_value_tensor(result, i, &tensor, &error));
                assert_int_equal(*(int64_t *)tensor.data, (100 + DEPTHS) * (int64_t)n);
            }
            mdist_value_destroy(result);
        }
        mdist_value_destroy(argument);
        mdist_strategy_destroy(strategy);
    }
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_replica_receives_the_sum_of_all),
        cmocka_unit_test(results_are_per_replica_plain_mirrored_or_none),
        cmocka_unit_test(replicas_that_disagree_about_a_merge_are_told_so),
        cmocka_unit_test(a_result_that_is_no_fitting_value_fails_the_merge),
        cmocka_unit_test(bad_arguments_of_a_merge_are_refused),
        cmocka_unit_test(executor_caller_merges_with_one_replica_only),
        cmocka_unit_test(runs_and_merges_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
