// SPDX-License-Identifier: Apache-2.0
// Running a step: which thread runs which replica, and the arguments and results.
#include "mdist_test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST = 8 };

typedef struct Seen {
    pthread_t threads[MOST];
    int32_t ids[MOST], indices[MOST];
    uint32_t counts[MOST];
    atomic_uint calls;
    unsigned order[MOST];
    pthread_barrier_t *all; // NULL: does not wait for the others
    Note notes[MOST];
} Seen;

static int32_t look_around(mdist_replica_t *replica, void *user_data) {
    Seen *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    if (id < 0 || id >= MOST) return 99;
    self->ids[id] += id + 1;
    self->indices[id] = mdist_replica_local_index(replica);
    self->counts[id] = mdist_replica_count(replica);
    self->threads[id] = pthread_self();
    self->order[id] = atomic_fetch_add(&self->calls, 1);
    if (self->all != NULL) pthread_barrier_wait(self->all); // hangs unless all replicas run at the same time
    return 0;
}

static void every_replica_runs_once_and_all_at_the_same_time(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= MOST; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        pthread_barrier_t all;
        pthread_barrier_init(&all, NULL, n);
        for (int again = 0; again < 5; ++again) {
            Seen seen = {.all = &all};
            OK(mdist_run(strategy, look_around, &seen, NULL, &error));
            assert_int_equal(seen.calls, n);
            for (uint32_t i = 0; i < n; ++i) {
                assert_int_equal(seen.ids[i], i + 1);
                assert_int_equal(seen.indices[i], i);
                assert_int_equal(seen.counts[i], n);
                assert_int_equal(pthread_equal(seen.threads[i], pthread_self()) != 0, i == 0);
                for (uint32_t j = 0; j < i; ++j) assert_false(pthread_equal(seen.threads[i], seen.threads[j]));
            }
        }
        pthread_barrier_destroy(&all);
        mdist_strategy_destroy(strategy);
    }
}

static void executor_caller_runs_in_order_on_the_calling_thread(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(5, "caller");
    Seen seen = {0};
    OK(mdist_run(strategy, look_around, &seen, NULL, &error));
    for (uint32_t i = 0; i < 5; ++i) {
        assert_true(pthread_equal(seen.threads[i], pthread_self()));
        assert_int_equal(seen.order[i], i);
        assert_int_equal(seen.counts[i], 5);
    }
    mdist_strategy_destroy(strategy);
}

// ---- Arguments and results.

// result 0 = argument 0 + 1, result 1 = 2 * argument 0, result 2 stays unset
static int32_t compute(mdist_replica_t *replica, void *user_data) {
    Seen *self = user_data;
    Note *wrong = &self->notes[mdist_replica_id(replica)];
    mdist_tensor_t in;
    mdist_error_t *error = NULL;
    if (note(wrong, MDIST_OK, mdist_replica_argument(replica, 0, NULL, &in, &error), &error, "argument")) return 1;
    if (in.rank != 0 || in.dtype != MDIST_FLOAT32) return 2;
    float more = *(float *)in.data + 1, twice = *(float *)in.data * 2, wiped = -1;
    const mdist_tensor_t first = tensor_of(&wiped, MDIST_FLOAT32, 0);
    const mdist_tensor_t out[2] = {tensor_of(&more, MDIST_FLOAT32, 0), tensor_of(&twice, MDIST_FLOAT32, 0)};
    note(wrong, MDIST_OK, mdist_replica_set_result(replica, 0, NULL, &first, &error), &error, "first result");
    note(wrong, MDIST_OK, mdist_replica_set_result(replica, 0, NULL, &out[0], &error), &error, "the last call counts");
    note(wrong, MDIST_OK, mdist_replica_set_result(replica, 1, NULL, &out[1], &error), &error, "second result");
    more = twice = -7; // too late: results are copies
    note(wrong, MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 1, NULL, &in, &error), &error,
         "no argument 1");
    note(wrong, MDIST_ERR_INVALID_ARGUMENT, mdist_replica_set_result(replica, 3, NULL, &out[0], &error), &error,
         "no result 3");
    note(wrong, MDIST_ERR_INVALID_ARGUMENT, mdist_replica_set_result(replica, 0, NULL, NULL, &error), &error,
         "NULL tensor");
    note(wrong, MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 0, NULL, NULL, &error), &error, "NULL out");
    return 0;
}

static float number_in(const mdist_value_t *value, size_t index) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensor;
    OK(mdist_value_tensor(value, index, &tensor, &error));
    assert_int_equal(tensor.dtype, MDIST_FLOAT32);
    assert_int_equal(tensor.rank, 0);
    return *(float *)tensor.data;
}

static void results_of_one_run_are_arguments_of_the_next(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 4; ++n) {
        for (int caller = 0; caller < 2; ++caller) {
            mdist_strategy_t *strategy = make_strategy(n, caller ? "caller" : NULL);
            Seen seen = {0};
            float start[4] = {10, 20, 30, 40};
            mdist_tensor_t tensors[4];
            for (uint32_t i = 0; i < n; ++i) tensors[i] = tensor_of(&start[i], MDIST_FLOAT32, 0);
            mdist_value_t *argument = NULL, *one[3] = {NULL, NULL, argument}, *two[3];
            OK(mdist_value_per_replica(strategy, tensors, n, &argument, &error));
            one[2] = argument;
            OK(mdist_run(strategy, compute, &seen,
                         &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1,
                                           .results = one, .result_count = 3},
                         &error));
            assert_null(one[2]);
            OK(mdist_run(strategy, compute, &seen,
                         &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &one[1], .argument_count = 1,
                                           .results = two, .result_count = 3},
                         &error));
            for (uint32_t i = 0; i < n; ++i) {
                assert_string_equal(seen.notes[i].text, "");
                assert_true(number_in(one[0], i) == start[i] + 1);
                assert_true(number_in(one[1], i) == start[i] * 2);
                assert_true(number_in(two[0], i) == start[i] * 2 + 1);
            }
            const mdist_value_kind_t kind = MDIST_VALUE_PER_REPLICA;
            assert_int_equal(mdist_value_kind(one[0]), kind);
            assert_int_equal(mdist_value_count(one[0]), n);
            mdist_value_destroy(argument);
            for (int i = 0; i < 3; ++i) mdist_value_destroy(one[i]), mdist_value_destroy(two[i]);
            mdist_strategy_destroy(strategy);
        }
    }
}

static void plain_and_mirrored_arguments_look_alike_on_every_replica(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    Seen seen = {0};
    float five = 5;
    mdist_value_t *arguments[2] = {make_value(&five, MDIST_FLOAT32, 0), NULL}, *results[2];
    const mdist_tensor_t tensor = tensor_of(&five, MDIST_FLOAT32, 0);
    OK(mdist_strategy_broadcast(strategy, &tensor, &arguments[1], &error));
    for (int kind = 0; kind < 2; ++kind) {
        OK(mdist_run(strategy, compute, &seen,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &arguments[kind], .argument_count = 1,
                                       .results = results, .result_count = 2},
                     &error));
        for (size_t i = 0; i < 3; ++i) {
            assert_string_equal(seen.notes[i].text, "");
            assert_true(number_in(results[1], i) == 10);
        }
        mdist_value_destroy(results[0]);
        mdist_value_destroy(results[1]);
        mdist_value_destroy(arguments[kind]);
    }
    mdist_strategy_destroy(strategy);
}

typedef struct Part {
    int set[MOST];
    int32_t dtype[MOST];
    uint64_t rows[MOST];
} Part;

static int32_t set_some(mdist_replica_t *replica, void *user_data) {
    const Part *self = user_data;
    const int32_t id = mdist_replica_id(replica);
    double room[64] = {0};
    mdist_tensor_t tensor = tensor_of(room, (mdist_dtype_t)self->dtype[id], 1);
    tensor.rank = 2;
    tensor.shape[0] = self->rows[id];
    tensor.shape[1] = 2;
    if (!self->set[id]) return 0;
    if (tensor.shape[0] == 0) tensor.data = NULL;
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) == MDIST_OK ? 0 : 1;
}

static void a_result_that_only_some_replicas_set_is_a_mismatch(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    mdist_value_t *result = (mdist_value_t *)&error;
    for (int without = 0; without < 3; ++without) {
        Part part = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
        part.set[without] = 0;
        assert_int_equal(
            mdist_run(strategy, set_some, &part,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error),
            MDIST_ERR_MISMATCH);
        assert_int_equal(mdist_error_replica(error), without);
        assert_string_equal(mdist_error_operation(error), "mdist_run");
        mdist_error_free(error);
        assert_ptr_equal(result, &error); // unchanged
    }
    Part dtypes = {{1, 1, 1}, {MDIST_FLOAT32, MDIST_FLOAT32, MDIST_INT32}, {1, 1, 1}};
    assert_int_equal(
        mdist_run(strategy, set_some, &dtypes,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error),
        MDIST_ERR_MISMATCH);
    WORDS(error, "int32");
    mdist_error_free(error);
    assert_ptr_equal(result, &error);

    Part none = {0};
    OK(mdist_run(strategy, set_some, &none,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
    assert_null(result);
    mdist_strategy_destroy(strategy);
}

static void a_replica_without_rows_takes_part(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    Part part = {{1, 1, 1}, {MDIST_FLOAT64, MDIST_FLOAT64, MDIST_FLOAT64}, {4, 1, 0}};
    mdist_value_t *result = NULL;
    OK(mdist_run(strategy, set_some, &part,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
    for (size_t i = 0; i < 3; ++i) {
        mdist_tensor_t seen;
        OK(mdist_value_tensor(result, i, &seen, &error));
        assert_int_equal(seen.rank, 2);
        assert_int_equal(seen.shape[0], part.rows[i]);
        assert_int_equal(seen.shape[1], 2);
        assert_int_equal(mdist_tensor_elements(&seen), part.rows[i] * 2);
    }
    mdist_value_destroy(result);
    mdist_strategy_destroy(strategy);
}

static int32_t do_nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica;
    if (user_data != NULL) atomic_fetch_add((atomic_uint *)user_data, 1);
    return 0;
}

static void bad_calls_are_refused_before_a_step_runs(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL), *other = make_strategy(3, NULL);
    atomic_uint calls = 0;
    float x = 1;
    mdist_value_t *value = make_value(&x, MDIST_FLOAT32, 0), *stale = make_value(&x, MDIST_FLOAT32, 0), *foreign = NULL;
    mdist_tensor_t tensors[3] = {tensor_of(&x, 1, 0), tensor_of(&x, 1, 0), tensor_of(&x, 1, 0)};
    OK(mdist_value_per_replica(other, tensors, 3, &foreign, &error));
    mdist_value_destroy(stale);
    mdist_value_t *const null = NULL;
    mdist_call_options_t options = {.struct_size = sizeof options};
    const mdist_status_t invalid = MDIST_ERR_INVALID_ARGUMENT, bad = MDIST_ERR_BAD_HANDLE;

    FAILS(invalid, mdist_run(strategy, NULL, &calls, NULL, &error));
    FAILS(invalid,
          mdist_run(strategy, do_nothing, &calls,
                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = NULL, .argument_count = 1}, &error));
    FAILS(invalid, mdist_run(strategy, do_nothing, &calls, &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = 1},
                             &error));
    FAILS(bad, mdist_run(strategy, do_nothing, &calls,
                         &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &null, .argument_count = 1}, &error));
    FAILS(bad, mdist_run(strategy, do_nothing, &calls,
                         &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &stale, .argument_count = 1}, &error));
    FAILS(bad, mdist_run((mdist_strategy_t *)value, do_nothing, &calls, NULL, &error));
    FAILS(bad, mdist_run(NULL, do_nothing, &calls, NULL, &error));
    FAILS(invalid,
          mdist_run(strategy, do_nothing, &calls,
                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &foreign, .argument_count = 1}, &error));
    mdist_run_io_t io = {.struct_size = sizeof io, .flags = 1};
    FAILS(invalid, mdist_run(strategy, do_nothing, &calls, &io, &error));
    io.flags = 0;
    for (uint32_t size = 0; size < sizeof io; size += sizeof io - 1) { // 0, and one byte too few
        io.struct_size = size;
        FAILS(invalid, mdist_run(strategy, do_nothing, &calls, &io, &error));
    }
    struct {
        mdist_run_io_t io;
        uint64_t of_the_future;
    } longer = {{.struct_size = sizeof longer}, 0};
    assert_int_equal(calls, 0);
    OK(mdist_run(strategy, do_nothing, &calls, &longer.io, &error));
    assert_int_equal(calls, 2);
    longer.of_the_future = 1;
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_run(strategy, do_nothing, &calls, &longer.io, &error));
    OK(mdist_run(strategy, do_nothing, &calls,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &value, .argument_count = 1}, &error));
    assert_int_equal(calls, 4);
    mdist_value_destroy(value);
    mdist_value_destroy(foreign);
    mdist_strategy_destroy(strategy);
    mdist_strategy_destroy(other);
}

static int32_t destroy_argument(mdist_replica_t *replica, void *user_data) {
    mdist_tensor_t tensor;
    if (mdist_replica_id(replica) == 0) mdist_value_destroy(user_data);
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (mdist_replica_argument(replica, 0, NULL, &tensor, NULL) != MDIST_OK) return 2;
    return *(float *)tensor.data == 8.5f ? 0 : 3;
}

static void an_argument_outlives_its_handle_for_the_run(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    float x = 8.5f;
    mdist_value_t *value = make_value(&x, MDIST_FLOAT32, 0);
    OK(mdist_run(strategy, destroy_argument, value,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &value, .argument_count = 1}, &error));
    assert_int_equal(mdist_value_count(value), 0);
    mdist_strategy_destroy(strategy);
}

// Runs another strategy in a step. The two strategies are independent.
static int32_t run_other(mdist_replica_t *replica, void *user_data) {
    if (mdist_replica_id(replica) != 0) return 0;
    Seen seen = {0};
    const mdist_status_t status = mdist_run(user_data, look_around, &seen, NULL, NULL);
    return status == MDIST_OK && seen.calls == 2 ? 0 : 1;
}

static void a_step_may_run_another_strategy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *outer = make_strategy(2, NULL), *inner = make_strategy(2, NULL);
    OK(mdist_run(outer, run_other, inner, NULL, &error));
    mdist_strategy_destroy(inner);
    mdist_strategy_destroy(outer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_replica_runs_once_and_all_at_the_same_time),
        cmocka_unit_test(executor_caller_runs_in_order_on_the_calling_thread),
        cmocka_unit_test(results_of_one_run_are_arguments_of_the_next),
        cmocka_unit_test(plain_and_mirrored_arguments_look_alike_on_every_replica),
        cmocka_unit_test(a_result_that_only_some_replicas_set_is_a_mismatch),
        cmocka_unit_test(a_replica_without_rows_takes_part),
        cmocka_unit_test(bad_calls_are_refused_before_a_step_runs),
        cmocka_unit_test(an_argument_outlives_its_handle_for_the_run),
        cmocka_unit_test(a_step_may_run_another_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
