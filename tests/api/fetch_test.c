// SPDX-License-Identifier: Apache-2.0
// Fetching: passes one tensor of a value to a function on the device where it lies, and returns its result on a chosen
// device.
#include "variable_support.h"

static int32_t doubled(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    float twice[2] = {2 * ((const float *)source->data)[0], 2 * ((const float *)source->data)[1]};
    const mdist_tensor_t tensor = tensor_of(twice, MDIST_FLOAT32, 2);
    ++*(int *)user_data;
    return mdist_value_create(&tensor, result, NULL) != MDIST_OK;
}

static int32_t refuses(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    (void)source, (void)user_data;
    float one = 1;
    const mdist_tensor_t tensor = tensor_of(&one, MDIST_FLOAT32, 0);
    return mdist_value_create(&tensor, result, NULL) != MDIST_OK ? 1 : 42;
}

static int32_t makes_nothing(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    (void)source, (void)result, (void)user_data;
    return 0;
}

static int32_t gives_several(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    return mdist_strategy_broadcast(user_data, source, result, NULL) !=
           MDIST_OK; // works: this is cross-replica context
}

static void plain_and_mirrored_values_come_to_any_device(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float numbers[2] = {3, 4}, twice[2] = {6, 8};
    for (uint32_t replicas = 1; replicas <= 3; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        const mdist_tensor_t wanted = tensor_of(numbers, MDIST_FLOAT32, 2);
        mdist_value_t *values[2] = {plain(wanted), mirrored(strategy, wanted)};
        for (uint32_t place = 0; place <= replicas; ++place) {
            char device[16] = "";
            if (place < replicas) OK(mdist_strategy_device(strategy, place, device, sizeof device, NULL, &error));
            for (int i = 0; i < 2; ++i) {
                mdist_value_t *out = NULL;
                int calls = 0;
                OK(mdist_strategy_fetch(strategy, values[i], device, NULL, NULL, &out, &error));
                expect_plain(out, wanted);
                OK(mdist_strategy_fetch(strategy, values[i], device, doubled, &calls, &out, &error));
                expect_plain(out, tensor_of(twice, MDIST_FLOAT32, 2));
                assert_int_equal(calls, 1);
            }
        }
        for (int i = 0; i < 2; ++i) mdist_value_destroy(values[i]);
        mdist_strategy_destroy(strategy);
    }
}

static void a_sync_on_read_variable_is_read_first(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    mdist_variable_t *variable = scalar_variable(strategy, "v", 5, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM);
    mdist_value_t *read = NULL, *out = NULL;
    float fifteen = 15;
    OK(mdist_variable_read(variable, &read, NULL, &error));
    OK(mdist_strategy_fetch(strategy, read, device_name(2), NULL, NULL, &out, &error));
    expect_plain(out, tensor_of(&fifteen, MDIST_FLOAT32, 0));
    mdist_value_destroy(read);
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
}

static void what_cannot_be_fetched_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL), *three = make_strategy(3, NULL);
    float numbers[2] = {3, 4};
    const mdist_tensor_t tensors[2] = {tensor_of(&numbers[0], MDIST_FLOAT32, 0),
                                       tensor_of(&numbers[1], MDIST_FLOAT32, 0)};
    mdist_value_t *each = per_replica(strategy, tensors), *one = plain(tensors[0]), *out = NULL;
    mdist_value_t *of_three = mirrored(three, tensors[0]);
    const mdist_status_t refused = mdist_strategy_fetch(strategy, each, NULL, NULL, NULL, &out, &error);
    WORDS(error, "mdist_strategy_reduce");
    assert_int_equal(refused, MDIST_ERR_INVALID_ARGUMENT);
    mdist_error_free(error);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_fetch(strategy, of_three, NULL, NULL, NULL, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_fetch(strategy, one, "cpu:2", NULL, NULL, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_fetch(strategy, one, NULL, NULL, NULL, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_strategy_fetch(strategy, NULL, NULL, NULL, NULL, &out, &error));
    const mdist_status_t failed = mdist_strategy_fetch(strategy, one, NULL, refuses, NULL, &out, &error);
    assert_int_equal(failed, MDIST_ERR_CALLBACK);
    assert_int_equal(mdist_error_native(error), 42);
    mdist_error_free(error);
    FAILS(MDIST_ERR_CALLBACK, mdist_strategy_fetch(strategy, one, NULL, makes_nothing, NULL, &out, &error));
    FAILS(MDIST_ERR_CALLBACK, mdist_strategy_fetch(strategy, one, NULL, gives_several, strategy, &out, &error));
    assert_null(out);
    mdist_value_destroy(each);
    mdist_value_destroy(one);
    mdist_value_destroy(of_three);
    mdist_strategy_destroy(three);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_mirrored_values_come_to_any_device),
        cmocka_unit_test(a_sync_on_read_variable_is_read_first),
        cmocka_unit_test(what_cannot_be_fetched_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
