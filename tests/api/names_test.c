// SPDX-License-Identifier: Apache-2.0
// Names, paths and other text of a program are UTF-8, or are refused where they are given.
#include "value_support.h"

#include <mdist/mdist.h>

static const char kBad[] = "bad\xff name";

static int32_t idle_step(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

static int32_t idle_update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments, size_t count,
                           mdist_value_t **results, size_t result_count, void *user_data) {
    (void)local, (void)copy, (void)arguments, (void)count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

static int32_t idle_operator(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    (void)left, (void)right, (void)out, (void)count, (void)user_data;
    return 0;
}

#define REFUSES(call)                                         \
    do {                                                      \
        assert_int_equal((call), MDIST_ERR_INVALID_ARGUMENT); \
        WORDS(error, "\"bad\\xff name\" is not valid UTF-8"); \
        mdist_error_free(error);                              \
        error = NULL;                                         \
    } while (0)

static void what_is_not_utf_8_is_refused_where_it_is_given(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    float x = 1;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    const char *const paths[] = {kBad};
    mdist_value_t *value = plain(tensor), *structure = NULL;
    mdist_variable_t *variable = NULL;
    mdist_dataset_t *numbers = NULL, *named = NULL;
    mdist_reduce_op_t op = 0;
    OK(mdist_dataset_range(0, 3, 1, &numbers, NULL, &error));
    REFUSES(mdist_variable_create(strategy, kBad, &tensor, &variable, NULL, &error));
    REFUSES(mdist_variable_named(strategy, kBad, &variable, &error));
    REFUSES(mdist_step_register(strategy, kBad, idle_step, NULL, &error));
    REFUSES(mdist_update_register(strategy, kBad, idle_update, NULL, &error));
    REFUSES(mdist_operator_register(kBad, 4, idle_operator, NULL, &op, &error));
    REFUSES(mdist_value_structure(paths, &value, 1, &structure, &error));
    REFUSES(mdist_value_at(value, kBad, &structure, &error));
    REFUSES(mdist_dataset_with_paths(numbers, paths, 1, &named, NULL, &error));
    mdist_dataset_destroy(numbers);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static int32_t set_at_a_bad_path(mdist_replica_t *replica, void *user_data) {
    mdist_error_t *error = NULL;
    float x = 1;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    *(int *)user_data = mdist_replica_set_result(replica, 0, kBad, &tensor, &error);
    mdist_error_free(error);
    return 0;
}

static void so_are_paths_of_results(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    int status = 0;
    mdist_value_t *result = NULL;
    OK(mdist_run(strategy, set_at_a_bad_path, &status,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
    assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
    assert_null(result);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_utf_8_is_refused_where_it_is_given),
        cmocka_unit_test(so_are_paths_of_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
