// SPDX-License-Identifier: Apache-2.0
// Loops of steps over an iterator: outputs by aggregation from both contexts, initial values, ends and failures.
#include "loop_body.h"
#include "structure_support.h"

static void the_last_outputs_come_out_aggregated(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 3; ++n) {
        for (int caller = 0; caller < 2; ++caller) {
            mdist_strategy_t *strategy = make_strategy(n, caller ? "caller" : NULL);
            assert_int_equal(check_loops(strategy), 0); // otherwise a line of loop_body.h
            mdist_strategy_destroy(strategy);
        }
    }
}

static mdist_iterator_t *data_for(mdist_strategy_t *strategy) {
    mdist_iterator_t *iterator = NULL;
    assert_int_equal(make_loop_data(strategy, &iterator), 0);
    return iterator;
}

// ---- In a merge, over a plain dataset, and one loop inside another.

typedef struct Nested {
    mdist_iterator_t *outer, *inner;
    uint64_t calls;
} Nested;

static int32_t count_call(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)strategy;
    Nested *const self = user_data;
    ++self->calls;
    return mdist_loop_set_output(loop, "element", element, MDIST_AGGREGATION_NONE, NULL) != MDIST_OK;
}

static int32_t loop_inside(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    Nested *const self = user_data;
    mdist_loop_t *inner = NULL;
    mdist_value_t *outputs = NULL;
    if (count_call(strategy, loop, element, user_data) != 0) return 1;
    if (mdist_run_steps(strategy, self->inner, 2, count_call, self, NULL, &inner, NULL, NULL) != MDIST_OK) return 2;
    if (mdist_loop_outputs(inner, &outputs, NULL) != MDIST_OK) return 3;
    const mdist_status_t status = mdist_loop_set_output(loop, "inner", outputs, MDIST_AGGREGATION_NONE, NULL);
    mdist_value_destroy(outputs);
    mdist_loop_destroy(inner);
    return status != MDIST_OK;
}

static int32_t loop_in_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)result_count;
    Nested *const self = user_data;
    mdist_loop_t *loop = NULL;
    mdist_value_t *outputs = NULL;
    if (mdist_run_steps(strategy, self->outer, 2, loop_inside, self, NULL, &loop, NULL, NULL) != MDIST_OK) return 1;
    const mdist_status_t status = mdist_loop_outputs(loop, &outputs, NULL);
    mdist_loop_destroy(loop);
    if (status == MDIST_OK) results[0] = outputs;
    return status != MDIST_OK;
}

static int32_t merge_a_loop(mdist_replica_t *replica, void *user_data) {
    mdist_tensor_t merged, inner;
    mdist_loop_t *none = NULL;
    Nested *const self = user_data;
    if (mdist_run_steps(NULL, self->outer, 1, count_call, NULL, NULL, &none, NULL, NULL) != MDIST_ERR_BAD_HANDLE)
        return 1;
    if (mdist_merge_call(replica, loop_in_merge, self, NULL, 0, &merged, 1, NULL, NULL) != MDIST_OK) return 2;
    if (mdist_replica_merge_result(replica, 0, "inner.element", &inner, NULL) != MDIST_OK) return 3;
    return *(const float *)inner.data == 3 ? 0 : 4;
}

static void loops_nest_and_work_in_merges(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float rows[] = {0, 1, 2, 3, 4};
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        const mdist_tensor_t array = tensor_of(rows, MDIST_FLOAT32, 5);
        mdist_dataset_t *dataset = NULL;
        Nested nested = {NULL, NULL, 0};
        OK(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &dataset, NULL, &error));
        OK(mdist_iterator_create(dataset, &nested.outer, &error));
        OK(mdist_iterator_create(dataset, &nested.inner, &error));
        OK(mdist_run(strategy, merge_a_loop, &nested, NULL, &error));
        assert_int_equal(nested.calls, 2 + 2 * 2);
        mdist_iterator_destroy(nested.outer);
        mdist_iterator_destroy(nested.inner);
        mdist_dataset_destroy(dataset);
        mdist_strategy_destroy(strategy);
    }
}

// ---- Initial values.

typedef struct Setting {
    const char *path;
    mdist_value_t *value;
    mdist_aggregation_t aggregation;
    uint64_t from; // the first iteration that sets it
    mdist_error_t *error;
} Setting;

static int32_t set_it(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)strategy, (void)element;
    Setting *const self = user_data;
    if (mdist_loop_iterations(loop) < self->from) return 0;
    mdist_error_free(self->error);
    self->error = NULL;
    return mdist_loop_set_output(loop, self->path, self->value, self->aggregation, &self->error) != MDIST_OK ? 7 : 0;
}

static mdist_value_t *initial_outputs(void) {
    const char *const paths[] = {"g.0", "g.1"};
    mdist_value_t *const leaves[] = {number(-1), number(-2)};
    return structure(paths, leaves, 2);
}

static void outputs_are_initial_until_they_are_set(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *initial = initial_outputs();
    Setting setting = {"g.1", number(5), MDIST_AGGREGATION_MEAN, 0, NULL};
    const uint64_t iterations[] = {0, 2};
    for (int i = 0; i < 2; ++i) {
        mdist_iterator_t *iterator = data_for(strategy);
        mdist_loop_t *loop = NULL;
        mdist_value_t *outputs = NULL;
        OK(mdist_run_steps(strategy, iterator, iterations[i], set_it, &setting, initial, &loop, NULL, &error));
        OK(mdist_loop_outputs(loop, &outputs, &error));
        assert_true(scalar_at(outputs, "g.0", 0) == -1);
        assert_true(scalar_at(outputs, "g.1", 0) == (i == 0 ? -2 : 5));
        mdist_value_destroy(outputs);
        mdist_loop_destroy(loop);
        mdist_iterator_destroy(iterator);
    }
    mdist_value_destroy(setting.value);
    mdist_value_destroy(initial);
    mdist_strategy_destroy(strategy);
}

/// Checks that the loop fails because this output is refused, with these words in the message.
static void expect_refused(mdist_strategy_t *strategy, const mdist_value_t *initial, const char *path,
                           mdist_value_t *value, int aggregation, mdist_status_t status, const char *words) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *iterator = data_for(strategy);
    mdist_loop_t *loop = NULL;
    Setting setting = {path, value, (mdist_aggregation_t)aggregation, 1, NULL};
    assert_int_equal(mdist_run_steps(strategy, iterator, 2, set_it, &setting, initial, &loop, NULL, &error),
                     MDIST_ERR_CALLBACK);
    assert_int_equal(mdist_error_native(error), 7);
    assert_null(loop);
    mdist_error_free(error);
    WORDS(setting.error, words);
    assert_int_equal(mdist_error_status(setting.error), status);
    mdist_error_free(setting.error);
    mdist_value_destroy(value);
    mdist_iterator_destroy(iterator);
}

static void outputs_that_cannot_be_are_refused_when_they_are_set(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *initial = initial_outputs();
    int32_t whole = 1;
    float many[2] = {1, 2};
    const mdist_tensor_t integers[] = {tensor_of(&whole, MDIST_INT32, 0), tensor_of(&whole, MDIST_INT32, 0)};
    enum { NONE = MDIST_AGGREGATION_NONE, SUM = MDIST_AGGREGATION_SUM, MEAN = MDIST_AGGREGATION_MEAN };
    expect_refused(strategy, NULL, "", number(1), NONE, MDIST_ERR_INVALID_ARGUMENT, "needs a name");
    expect_refused(strategy, NULL, "a..b", number(1), NONE, MDIST_ERR_INVALID_ARGUMENT, "empty name");
    expect_refused(strategy, NULL, "a", number(1), 4, MDIST_ERR_INVALID_ARGUMENT, "aggregation is 4");
    expect_refused(strategy, NULL, "a", number(1), SUM, MDIST_ERR_INVALID_ARGUMENT, "SUM needs a per-replica value");
    expect_refused(strategy, NULL, "a", per_replica(strategy, integers), MEAN, MDIST_ERR_INVALID_ARGUMENT,
                   "MEAN of int32");
    expect_refused(strategy, initial, "g.2", number(1), NONE, MDIST_ERR_NOT_FOUND, "initial outputs: ");
    expect_refused(strategy, initial, "g.0", make_value(&whole, MDIST_INT32, 0), NONE, MDIST_ERR_MISMATCH,
                   "is int32 [], but its initial value is float32");
    expect_refused(strategy, initial, "g.0", make_value(many, MDIST_FLOAT32, 2), NONE, MDIST_ERR_MISMATCH,
                   "an output must keep its type and shape");
    expect_refused(strategy, initial, "g", number(1), NONE, MDIST_ERR_MISMATCH, "initial value has 2");

    mdist_iterator_t *iterator = data_for(strategy);
    mdist_loop_t *loop = NULL;
    Setting setting = {"a", NULL, MDIST_AGGREGATION_NONE, 0, NULL};
    mdist_value_t *plain_value = number(1);
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_run_steps(strategy, iterator, 1, set_it, &setting, plain_value, &loop, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_steps(strategy, iterator, 1, NULL, NULL, NULL, &loop, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_run_steps(strategy, iterator, 1, set_it, &setting, NULL, NULL, NULL, &error));
    mdist_strategy_t *three = make_strategy(3, NULL);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_steps(three, iterator, 1, set_it, &setting, NULL, &loop, NULL, &error));
    assert_null(loop);
    mdist_value_destroy(plain_value);
    mdist_value_destroy(initial);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(three);
    mdist_strategy_destroy(strategy);
}

static int32_t set_one_below_another(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                     void *user_data) {
    (void)strategy, (void)user_data;
    if (mdist_loop_set_output(loop, "a.b", element, MDIST_AGGREGATION_NONE, NULL) != MDIST_OK) return 1;
    if (mdist_loop_set_output(loop, "a", element, MDIST_AGGREGATION_NONE, NULL) != MDIST_ERR_INVALID_ARGUMENT) return 2;
    if (mdist_loop_set_output(loop, "ab", element, MDIST_AGGREGATION_NONE, NULL) != MDIST_OK) return 3;
    return mdist_loop_set_output(loop, "a.b.c", element, MDIST_AGGREGATION_NONE, NULL) != MDIST_ERR_INVALID_ARGUMENT;
}

static void outputs_lie_beside_each_other(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_iterator_t *iterator = data_for(strategy);
    mdist_loop_t *loop = NULL;
    mdist_value_t *outputs = NULL;
    OK(mdist_run_steps(strategy, iterator, 1, set_one_below_another, NULL, NULL, &loop, NULL, &error));
    OK(mdist_loop_outputs(loop, &outputs, &error));
    const char *const paths[] = {"a.b.x", "a.b.y.neg", "ab.x", "ab.y.neg"};
    expect_paths(outputs, paths, 4);
    mdist_value_destroy(outputs);
    mdist_loop_destroy(loop);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

// ---- Steps that disagree.

typedef struct Disagreement {
    mdist_loop_t *loop;
    const char *paths[2]; // of replicas 0 and 1
    int aggregations[2];
} Disagreement;

static int32_t disagree(mdist_replica_t *replica, void *user_data) {
    const Disagreement *const self = user_data;
    const int32_t id = mdist_replica_id(replica);
    float x = 0;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_replica_set_output(replica, self->loop, self->paths[id], &tensor,
                                    (mdist_aggregation_t)self->aggregations[id], NULL) != MDIST_OK;
}

static int32_t run_disagreement(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                void *user_data) {
    (void)element;
    ((Disagreement *)user_data)->loop = loop;
    return mdist_run(strategy, disagree, user_data, NULL, NULL) != MDIST_OK;
}

static void replicas_put_out_the_same_things(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_iterator_t *iterator = data_for(strategy);
    mdist_loop_t *loop = NULL;
    Disagreement paths = {NULL, {"a", "b"}, {MDIST_AGGREGATION_SUM, MDIST_AGGREGATION_SUM}};
    Disagreement aggregations = {NULL, {"a", "a"}, {MDIST_AGGREGATION_SUM, MDIST_AGGREGATION_MEAN}};
    assert_int_equal(mdist_run_steps(strategy, iterator, 1, run_disagreement, &paths, NULL, &loop, NULL, &error),
                     MDIST_ERR_MISMATCH);
    WORDS(error, "\"a\" on replica 0 and not on replica 1");
    mdist_error_free(error);
    assert_int_equal(mdist_run_steps(strategy, iterator, 1, run_disagreement, &aggregations, NULL, &loop, NULL, &error),
                     MDIST_ERR_MISMATCH);
    WORDS(error, "aggregation 1 on replica 0 and 2 on replica 1");
    mdist_error_free(error);
    assert_null(loop);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

// ---- Failures.

static void a_function_that_fails_ends_the_loop(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_iterator_t *iterator = data_for(strategy);
    mdist_loop_t *loop = NULL;
    LoopBody body = {NULL, 0, 2, 0};
    assert_int_equal(mdist_run_steps(strategy, iterator, 4, call_loop_body, &body, NULL, &loop, NULL, &error),
                     MDIST_ERR_CALLBACK);
    assert_int_equal(mdist_error_native(error), 5);
    mdist_error_free(error);
    assert_int_equal(body.calls, 2);
    assert_null(loop);
    assert_int_equal(mdist_loop_iterations(body.loop), 0); // the loop's handle is invalid now
    body = (LoopBody){NULL, 0, UINT64_MAX, 0};
    OK(mdist_run_steps(strategy, iterator, 1, call_loop_body, &body, NULL, &loop, NULL, &error)); // element 3
    assert_int_equal(check_loop_outputs(strategy, loop, 1, 3), 0);
    mdist_loop_destroy(loop);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

static int32_t close_it(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)strategy, (void)loop, (void)element;
    return mdist_iterator_close(user_data, NULL);
}

static void an_iterator_that_is_closed_ends_the_loop(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_iterator_t *iterator = data_for(strategy);
    mdist_loop_t *loop = NULL;
    assert_int_equal(mdist_run_steps(strategy, iterator, 4, close_it, iterator, NULL, &loop, NULL, &error),
                     MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "closed");
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_outputs_come_out_aggregated),
        cmocka_unit_test(loops_nest_and_work_in_merges),
        cmocka_unit_test(outputs_are_initial_until_they_are_set),
        cmocka_unit_test(outputs_that_cannot_be_are_refused_when_they_are_set),
        cmocka_unit_test(outputs_lie_beside_each_other),
        cmocka_unit_test(replicas_put_out_the_same_things),
        cmocka_unit_test(a_function_that_fails_ends_the_loop),
        cmocka_unit_test(an_iterator_that_is_closed_ends_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
