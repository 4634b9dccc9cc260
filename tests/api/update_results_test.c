// SPDX-License-Identifier: Apache-2.0
// Results of updates: each copy makes its own, and they are regrouped as in a run.
#include "structure_support.h"

enum { MOST = 3 };

typedef struct Making {
    uint32_t calls, stays_away; // the copy that makes no results
    uint32_t odd;               // the copy that makes another type
    mdist_value_t *instead;     // the result that `odd` makes
    int copy_missing;
} Making;

/// Makes three results: the copy's first element plus the first argument, nothing, and a vector of local replica + 1
/// elements.
static int32_t make_results(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                            size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    Making *const self = user_data;
    float sum = argument_count > 0 ? *(const float *)arguments[0].data : 0;
    ++self->calls;
    self->copy_missing += copy == NULL;
    if (copy != NULL) sum += *(const float *)copy->data;
    if (result_count != 3 || local == self->stays_away) return 0;
    const mdist_tensor_t scalar = tensor_of(&sum, MDIST_FLOAT32, 0);
    float many[MOST] = {(float)local, (float)local, (float)local};
    const mdist_tensor_t vector = tensor_of(many, MDIST_FLOAT32, local + 1);
    if (local == self->odd) {
        results[0] = self->instead;
        return 0;
    }
    return mdist_value_create(&scalar, &results[0], NULL) != MDIST_OK ||
           mdist_value_create(&vector, &results[2], NULL) != MDIST_OK;
}

static const Making all_make = {.stays_away = UINT32_MAX, .odd = UINT32_MAX};

static mdist_variable_t *variable_of_ten(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    mdist_variable_t *variable = NULL;
    float ten = 10;
    const mdist_tensor_t initial = tensor_of(&ten, MDIST_FLOAT32, 0);
    OK(mdist_variable_create(strategy, "v", &initial, &variable, NULL, &error));
    return variable;
}

/// Makes a per-replica value of 1, 2, 3.
static mdist_value_t *numbers(mdist_strategy_t *strategy) {
    float from_one[MOST] = {1, 2, 3};
    mdist_tensor_t tensors[MOST];
    for (int i = 0; i < MOST; ++i) tensors[i] = tensor_of(&from_one[i], MDIST_FLOAT32, 0);
    return per_replica(strategy, tensors);
}

static void expect_results(mdist_value_t **results, uint32_t replicas, float base) {
    const mdist_value_kind_t kind = MDIST_VALUE_PER_REPLICA;
    assert_int_equal(mdist_value_kind(results[0]), kind);
    assert_int_equal(mdist_value_count(results[0]), replicas);
    assert_null(results[1]);
    for (uint32_t local = 0; local < replicas; ++local) {
        float sum = base + 1 + (float)local, many[MOST] = {(float)local, (float)local, (float)local};
        expect_tensor(results[0], local, tensor_of(&sum, MDIST_FLOAT32, 0));
        expect_tensor(results[2], local, tensor_of(many, MDIST_FLOAT32, local + 1));
    }
    for (int i = 0; i < 3; ++i) mdist_value_destroy(results[i]);
}

static void what_each_copy_makes_comes_out_regrouped(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        mdist_variable_t *variable = variable_of_ten(strategy);
        mdist_value_t *each = numbers(strategy), *results[3];
        Making making = all_make;
        OK(mdist_update(variable, make_results, &making,
                        &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &each, .argument_count = 1,
                                          .results = results, .result_count = 3},
                        &error));
        assert_int_equal(making.calls, replicas);
        assert_int_equal(making.copy_missing, 0);
        expect_results(results, replicas, 10);
        mdist_value_destroy(each);
        mdist_variable_destroy(variable);
        mdist_strategy_destroy(strategy);
    }
}

static void what_belongs_to_no_variable_is_updated_once_per_device(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        mdist_value_t *each = numbers(strategy), *results[3];
        Making making = all_make;
        OK(mdist_update_devices(strategy, make_results, &making,
                                &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &each, .argument_count = 1,
                                                  .results = results, .result_count = 3},
                                &error));
        assert_int_equal(making.calls, replicas);
        assert_int_equal(making.copy_missing, replicas);
        expect_results(results, replicas, 0);
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_update_devices(strategy, NULL, NULL, NULL, &error));
        mdist_value_destroy(each);
        mdist_strategy_destroy(strategy);
    }
}

static void expect_refused(mdist_variable_t *variable, Making *making, mdist_status_t wanted, const char *words) {
    mdist_error_t *error = NULL;
    mdist_value_t *results[3] = {NULL, NULL, NULL};
    const mdist_status_t status =
        mdist_update(variable, make_results, making,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = results, .result_count = 3}, &error);
    WORDS(error, words);
    WORDS(error, "result 0");
    assert_int_equal(status, wanted);
    mdist_error_free(error);
    for (int i = 0; i < 3; ++i) assert_null(results[i]);
}

static void results_that_do_not_go_together_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(MOST, NULL);
    mdist_variable_t *variable = variable_of_ten(strategy);
    int32_t whole = 1;
    Making some = all_make, types = all_make, parts = all_make;
    some.stays_away = 1;
    expect_refused(variable, &some, MDIST_ERR_MISMATCH, "not on replica 1");
    types.odd = 2;
    types.instead = make_value(&whole, MDIST_INT32, 0);
    expect_refused(variable, &types, MDIST_ERR_MISMATCH, "int32 on local replica 2");
    parts.odd = 1;
    parts.instead = numbers(strategy);
    expect_refused(variable, &parts, MDIST_ERR_CALLBACK, "plain values");
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_update(variable, make_results, &some, &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = 1},
                       &error));
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
}

// ---- Structures as arguments and results.

/// Checks the leaves of {"a": {"0": copy's number, "1": 1}, "w": 2}, one after another, and then a plain argument.
static int32_t look_at_leaves(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                              size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)copy, (void)user_data;
    const float wanted[] = {(float)local, 1, 2, 3};
    if (argument_count != 4 || result_count != 1) return 1;
    for (int i = 0; i < 4; ++i)
        if (*(const float *)arguments[i].data != wanted[i]) return 2 + i;
    const char *const paths[] = {"sum", "parts.0"};
    float sum = (float)local + 6, part = (float)local;
    const mdist_tensor_t tensors[] = {tensor_of(&sum, MDIST_FLOAT32, 0), tensor_of(&part, MDIST_FLOAT32, 0)};
    mdist_value_t *leaves[2] = {NULL, NULL};
    if (mdist_value_create(&tensors[0], &leaves[0], NULL) != MDIST_OK) return 8;
    if (mdist_value_create(&tensors[1], &leaves[1], NULL) != MDIST_OK) return 9;
    const mdist_status_t status = mdist_value_structure(paths, leaves, local == 7 ? 1 : 2, &results[0], NULL);
    for (int i = 0; i < 2; ++i) mdist_value_destroy(leaves[i]);
    return status != MDIST_OK;
}

static void structures_go_in_leaf_by_leaf_and_come_out_regrouped(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const char *const paths[] = {"w", "a.1", "a.0"};
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        mdist_variable_t *variable = variable_of_ten(strategy);
        float from_zero[MOST] = {0, 1, 2}, one = 1;
        mdist_tensor_t tensors[MOST];
        for (int i = 0; i < MOST; ++i) tensors[i] = tensor_of(&from_zero[i], MDIST_FLOAT32, 0);
        mdist_value_t *leaves[] = {number(2), mirrored(strategy, tensor_of(&one, MDIST_FLOAT32, 0)),
                                   per_replica(strategy, tensors)};
        mdist_value_t *arguments[] = {structure(paths, leaves, 3), number(3)}, *result = NULL;
        OK(mdist_update(variable, look_at_leaves, NULL,
                        &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 2,
                                          .results = &result, .result_count = 1},
                        &error));
        const char *const made[] = {"parts.0", "sum"};
        expect_paths(result, made, 2);
        for (uint32_t local = 0; local < replicas; ++local) {
            assert_true(scalar_at(result, "sum", local) == (float)local + 6);
            assert_true(scalar_at(result, "parts.0", local) == (float)local);
        }
        mdist_value_destroy(result);
        OK(mdist_update_devices(strategy, look_at_leaves, NULL,
                                &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 2,
                                                  .results = &result, .result_count = 1},
                                &error));
        expect_paths(result, made, 2);
        mdist_value_t *const values[] = {result, arguments[0], arguments[1]};
        for (int i = 0; i < 3; ++i) mdist_value_destroy(values[i]);
        mdist_variable_destroy(variable);
        mdist_strategy_destroy(strategy);
    }
}

static int32_t make_other_paths(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                                size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)copy, (void)arguments, (void)argument_count, (void)result_count, (void)user_data;
    const char *const paths[] = {local == 1 ? "b" : "a"};
    float x = 0;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    mdist_value_t *leaf = NULL;
    if (mdist_value_create(&tensor, &leaf, NULL) != MDIST_OK) return 1;
    const mdist_status_t status = mdist_value_structure(paths, &leaf, 1, &results[0], NULL);
    mdist_value_destroy(leaf);
    return status != MDIST_OK;
}

static void copies_that_make_different_paths_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *result = NULL;
    assert_int_equal(
        mdist_update_devices(strategy, make_other_paths, NULL,
                             &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error),
        MDIST_ERR_MISMATCH);
    WORDS(error, "\"a\" on replica 0 and not on replica 1");
    assert_string_equal(mdist_error_reason(error), "different_paths");
    assert_null(result);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

// ---- In a merge: an optimizer's state without a variable, such as beta to the power of t.

static int32_t count_step(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                          size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)copy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    ((float *)user_data)[local] *= 0.5f;
    return 0;
}

static int32_t merge_and_count(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                               mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    return mdist_update_devices(strategy, count_step, user_data, NULL, NULL) != MDIST_OK;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    return mdist_merge_call(replica, merge_and_count, user_data, NULL, 0, NULL, 0, NULL, NULL);
}

static void a_step_updates_it_through_a_merge(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float powers[MOST] = {1, 1, 1};
    mdist_strategy_t *strategy = make_strategy(MOST, NULL);
    for (int i = 0; i < 2; ++i) OK(mdist_run(strategy, step, powers, NULL, &error));
    for (int i = 0; i < MOST; ++i) assert_true(powers[i] == 0.25f);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_each_copy_makes_comes_out_regrouped),
        cmocka_unit_test(what_belongs_to_no_variable_is_updated_once_per_device),
        cmocka_unit_test(results_that_do_not_go_together_are_refused),
        cmocka_unit_test(structures_go_in_leaf_by_leaf_and_come_out_regrouped),
        cmocka_unit_test(copies_that_make_different_paths_are_refused),
        cmocka_unit_test(a_step_updates_it_through_a_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
