// SPDX-License-Identifier: Apache-2.0
// Steps and updates by name with any strategy, and a client without other workers.
#include "mdist_test.h"

enum { REPLICAS = 2 };

static mdist_strategy_t *make(const char *kind) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "strategy", kind, &error));
    OK(mdist_config_set(config, "devices", "cpu*2", &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

/// Step function: the result is the id times the number that user_data points to.
static int32_t multiply(mdist_replica_t *replica, void *user_data) {
    float product = (float)mdist_replica_id(replica) * *(const float *)user_data;
    const mdist_tensor_t tensor = tensor_of(&product, MDIST_FLOAT32, 0);
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) != MDIST_OK;
}

/// Step function: adds the argument to "v".
static int32_t add(mdist_replica_t *replica, void *user_data) {
    mdist_strategy_t *strategy = user_data;
    mdist_variable_t *variable = NULL;
    mdist_tensor_t tensor;
    if (mdist_variable_named(strategy, "v", &variable, NULL) != MDIST_OK) return 1;
    mdist_status_t status = mdist_replica_argument(replica, 0, NULL, &tensor, NULL);
    if (status == MDIST_OK) status = mdist_replica_assign(replica, variable, MDIST_ASSIGN_ADD, &tensor, NULL, NULL);
    mdist_variable_destroy(variable);
    return status != MDIST_OK;
}

static int32_t return_five(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 5;
}

static int32_t negate(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                      size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)local_replica, (void)arguments, (void)argument_count, (void)result_count, (void)user_data;
    float *const number = copy->data;
    *number = -*number;
    return mdist_value_create(copy, &results[0], NULL) != MDIST_OK;
}

static float number_of(const mdist_value_t *value, size_t index) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensor;
    OK(mdist_value_tensor(value, index, &tensor, &error));
    return *(const float *)tensor.data;
}

static float read_variable(mdist_variable_t *variable) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    OK(mdist_variable_read(variable, &value, NULL, &error));
    const float number = number_of(value, 0);
    mdist_value_destroy(value);
    return number;
}

static void run_and_check(mdist_strategy_t *strategy, float factor) {
    mdist_error_t *error = NULL;
    mdist_value_t *result = NULL;
    OK(mdist_run_named(strategy, "multiply",
                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
    assert_int_equal(mdist_value_count(result), REPLICAS);
    for (size_t r = 0; r < REPLICAS; ++r) assert_true(number_of(result, r) == (float)r * factor);
    mdist_value_destroy(result);
}

static void names_stand_for_steps_and_updates(void **state) {
    static const char *const kinds[] = {"in_graph", "mirrored", "auto"};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        mdist_error_t *error = NULL;
        mdist_strategy_t *strategy = make(kinds[i]);
        float three = 3, four = 4;
        const mdist_tensor_t initial = tensor_of(&three, MDIST_FLOAT32, 0);
        const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_SUM};
        mdist_variable_t *variable = NULL;
        mdist_value_t *value = make_value(&four, MDIST_FLOAT32, 0), *result = NULL;
        OK(mdist_step_register(strategy, "multiply", multiply, &four, &error));
        OK(mdist_step_register(strategy, "add", add, strategy, &error));
        OK(mdist_update_register(strategy, "negate", negate, NULL, &error));
        run_and_check(strategy, 4);
        OK(mdist_step_register(strategy, "multiply", multiply, &three, &error)); // replaces the first one
        run_and_check(strategy, 3);
        OK(mdist_variable_create(strategy, "v", &initial, &variable, &options, &error));
        OK(mdist_run_named(strategy, "add",
                           &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &value, .argument_count = 1},
                           &error));
        assert_true(read_variable(variable) == 3 + REPLICAS * 4);
        OK(mdist_update_named(strategy, variable, "negate",
                              &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1},
                              &error));
        assert_true(number_of(result, REPLICAS - 1) == -11 && read_variable(variable) == -11);
        OK(mdist_variable_assign(variable, MDIST_ASSIGN_SET, value, &error));
        assert_true(read_variable(variable) == 4);
        mdist_value_destroy(result);
        mdist_value_destroy(value);
        mdist_variable_destroy(variable);
        mdist_strategy_destroy(strategy);
    }
}

static void names_that_are_none_are_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make("in_graph");
    assert_int_equal(mdist_run_named(strategy, "multiply", NULL, &error), MDIST_ERR_NOT_FOUND);
    WORDS(error, "mdist_step_register");
    mdist_error_free(error);
    error = NULL;
    OK(mdist_step_register(strategy, "a", multiply, NULL, &error));
    OK(mdist_step_register(strategy, "b", multiply, NULL, &error));
    assert_int_equal(mdist_run_named(strategy, "c", NULL, &error), MDIST_ERR_NOT_FOUND);
    WORDS(error, "\"a\", \"b\"");
    mdist_error_free(error);
    error = NULL;
    FAILS(MDIST_ERR_NOT_FOUND, mdist_update_named(strategy, NULL, "a", NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_step_register(strategy, "", multiply, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_step_register(strategy, NULL, multiply, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_step_register(strategy, "d", NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_update_register(strategy, "d", NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_named(strategy, NULL, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_step_register(NULL, "d", multiply, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// A client without other workers refuses the same calls, so that a program that works alone also works with others.
static void a_client_alone_is_refused_the_same(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make("in_graph");
    assert_int_equal(mdist_run(strategy, return_five, NULL, NULL, &error), MDIST_ERR_UNSUPPORTED);
    assert_string_equal(mdist_error_reason(error), "in_graph");
    WORDS(error, "mdist_run_named");
    mdist_error_free(error);
    error = NULL;
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_run_begin(strategy, NULL, &error));
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_update_devices(strategy, negate, NULL, NULL, &error));
    FAILS(MDIST_ERR_WRONG_CONTEXT, mdist_serve(strategy, NULL, &error));
    mdist_strategy_destroy(strategy);
    strategy = make("mirrored");
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_serve(strategy, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static void a_failed_step_leaves_a_client_alone_usable(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make("in_graph");
    float two = 2;
    OK(mdist_step_register(strategy, "fail", return_five, NULL, &error));
    OK(mdist_step_register(strategy, "multiply", multiply, &two, &error));
    assert_int_equal(mdist_run_named(strategy, "fail", NULL, &error), MDIST_ERR_CALLBACK);
    assert_int_equal(mdist_error_native(error), 5);
    mdist_error_free(error);
    run_and_check(strategy, 2);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_for_steps_and_updates),
        cmocka_unit_test(names_that_are_none_are_told),
        cmocka_unit_test(a_client_alone_is_refused_the_same),
        cmocka_unit_test(a_failed_step_leaves_a_client_alone_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
