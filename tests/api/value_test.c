// SPDX-License-Identifier: Apache-2.0
// Values: what they copy and keep, how long they live, and what they refuse.
#include <pthread.h>

#include "value_support.h"

static void a_plain_value_is_a_copy(void **state) {
    (void)state;
    for (int32_t dtype = 1; dtype <= DTYPES; ++dtype) {
        unsigned char data[48], before[48];
        fill(dtype, data, 6);
        memcpy(before, data, sizeof data);
        mdist_tensor_t tensor = shaped(data, dtype, 2, 3, NO);
        tensor.shape[5] = 77; // must be ignored
        mdist_value_t *value = plain(tensor);
        memset(data, 0, sizeof data);
        expect_plain(value, shaped(before, dtype, 2, 3, NO));
    }
}

static void a_value_without_data_is_zeros(void **state) {
    (void)state;
    double zeros[3] = {0, 0, 0};
    expect_plain(plain(tensor_of(NULL, MDIST_FLOAT64, 3)), tensor_of(zeros, MDIST_FLOAT64, 3));
    expect_plain(plain(tensor_of(NULL, MDIST_FLOAT64, 0)), tensor_of(zeros, MDIST_FLOAT64, 0));
    expect_plain(plain(shaped(NULL, MDIST_FLOAT64, 3, 0, 2)), shaped(NULL, MDIST_FLOAT64, 3, 0, 2));
}

static void kinds_and_counts_are_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    float data[6] = {1, 2, 3, 4, 5, 6};
    mdist_tensor_t tensors[3] = {tensor_of(data, MDIST_FLOAT32, 1), shaped(data + 1, MDIST_FLOAT32, 1, 2, NO),
                                 tensor_of(data + 3, MDIST_FLOAT32, 3)};
    mdist_value_t *each = per_replica(strategy, tensors), *same = mirrored(strategy, tensors[1]);
    assert_int_equal(mdist_value_kind(each), MDIST_VALUE_PER_REPLICA);
    assert_int_equal(mdist_value_count(each), 3);
    for (size_t i = 0; i < 3; ++i) expect_tensor(each, i, tensors[i]);
    mdist_tensor_t out = tensors[0];
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_tensor(each, 3, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_tensor(each, SIZE_MAX, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_tensor(each, 0, NULL, &error));
    assert_memory_equal(&out, &tensors[0], sizeof out);
    mdist_value_destroy(each);
    // The value outlives the strategy.
    mdist_strategy_destroy(strategy);
    expect_mirrored(same, 3, tensors[1]);
}

static void bad_values_have_no_kind(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_tensor_t out;
    int32_t number = 7;
    mdist_value_t *value = plain(tensor_of(&number, MDIST_INT32, 0));
    mdist_value_destroy(value);
    mdist_value_destroy(value);
    mdist_value_destroy(NULL);
    mdist_value_t *const bad[] = {NULL, value, (mdist_value_t *)&number, (mdist_value_t *)UINTPTR_MAX};
    for (size_t i = 0; i < 4; ++i) {
        mdist_value_destroy(bad[i]);
        assert_int_equal(mdist_value_kind(bad[i]), 0);
        assert_int_equal(mdist_value_count(bad[i]), 0);
        FAILS(MDIST_ERR_BAD_HANDLE, mdist_value_tensor(bad[i], 0, &out, &error));
    }
}

static void tensors_that_cannot_be_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float data[4] = {0};
    mdist_tensor_t tensors[10];
    for (int i = 0; i < 10; ++i) tensors[i] = shaped(data, MDIST_FLOAT32, 2, 2, NO);
    tensors[0].dtype = 0;
    tensors[1].dtype = 14;
    tensors[2].rank = -1;
    tensors[3].rank = 9;
    tensors[4].device_kind = MDIST_DEVICE_GPU;
    tensors[5].device_index = 1;
    tensors[6].shape[0] = UINT64_MAX;
    tensors[7].shape[0] = tensors[7].shape[1] = (uint64_t)1 << 32;
    tensors[8] = shaped(NULL, MDIST_FLOAT64, 0, (uint64_t)1 << 40, (uint64_t)1 << 40);
    tensors[9].device_kind = 7;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *value = NULL;
    for (int i = 0; i < 10; ++i) {
        if (on_gpus() && i == 4) continue; // that GPU exists
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_create(&tensors[i], &value, &error));
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_wrap(&tensors[i], NULL, NULL, &value, &error));
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_broadcast(strategy, &tensors[i], &value, &error));
        const mdist_tensor_t two[2] = {shaped(data, MDIST_FLOAT32, 2, 2, NO), tensors[i]};
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_per_replica(strategy, two, 2, &value, &error));
    }
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_create(NULL, &value, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_per_replica(strategy, NULL, 2, &value, &error));
    const mdist_tensor_t mixed[3] = {tensor_of(data, MDIST_FLOAT32, 1), tensor_of(data, MDIST_INT32, 1),
                                     tensor_of(data, MDIST_INT32, 1)};
    FAILS(MDIST_ERR_MISMATCH, mdist_value_per_replica(strategy, mixed, 2, &value, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_per_replica(strategy, mixed, 1, &value, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_per_replica(strategy, mixed, 3, &value, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_value_per_replica(NULL, mixed, 2, &value, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_create(&mixed[0], NULL, &error));
    assert_null(value);
    mdist_strategy_destroy(strategy);
}

// ---- Values of the caller's memory.

static void count_free(void *user_data) {
    ++*(_Atomic int *)user_data;
}

static void wrapped_memory_is_kept_and_freed_once(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float data[2] = {1, 2};
    _Atomic int freed = 0;
    mdist_tensor_t tensor = tensor_of(data, MDIST_FLOAT32, 2), got;
    mdist_value_t *value = NULL;
    OK(mdist_value_wrap(&tensor, &freed, count_free, &value, &error));
    OK(mdist_value_tensor(value, 0, &got, &error));
    assert_ptr_equal(got.data, data);
    assert_int_equal(freed, 0);
    mdist_value_destroy(value);
    assert_int_equal(freed, 1);
    mdist_value_destroy(value);
    assert_int_equal(freed, 1);

    // The memory is freed in every way to fail.
    tensor.dtype = 99;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_wrap(&tensor, &freed, count_free, &value, &error));
    assert_int_equal(freed, 2);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_wrap(NULL, &freed, count_free, &value, &error));
    assert_int_equal(freed, 3);
    tensor = tensor_of(data, MDIST_FLOAT32, 2);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_wrap(&tensor, &freed, count_free, NULL, &error));
    assert_int_equal(freed, 4);
    tensor.data = NULL;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_wrap(&tensor, &freed, count_free, &value, &error));
    assert_int_equal(freed, 5);
    tensor = tensor_of(data, MDIST_FLOAT32, 2);
    OK(mdist_value_wrap(&tensor, NULL, NULL, &value, &error));
    mdist_value_destroy(value);
}

typedef struct Argument {
    mdist_value_t *value;
    _Atomic int *freed;
    _Atomic int early;
    _Atomic int wrong;
} Argument;

// Destroys the handle in the step. The run still holds the value.
static int32_t destroy_argument(mdist_replica_t *replica, void *user_data) {
    Argument *const argument = user_data;
    mdist_tensor_t tensor;
    if (mdist_replica_argument(replica, 0, NULL, &tensor, NULL) != MDIST_OK) return 1;
    mdist_value_destroy(argument->value);
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (*argument->freed != 0) ++argument->early;
    if (((const float *)tensor.data)[1] != 2) ++argument->wrong;
    return 0;
}

static void a_run_keeps_its_arguments(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    float data[2] = {1, 2};
    _Atomic int freed = 0;
    const mdist_tensor_t tensor = tensor_of(data, MDIST_FLOAT32, 2);
    Argument argument = {.freed = &freed};
    OK(mdist_value_wrap(&tensor, &freed, count_free, &argument.value, &error));
    OK(mdist_run(strategy, destroy_argument, &argument,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument.value, .argument_count = 1}, &error));
    assert_int_equal(argument.early + argument.wrong, 0);
    assert_int_equal(freed, 1);
    mdist_strategy_destroy(strategy);
}

// ---- From many threads.

typedef struct Shared {
    mdist_value_t *value;
    _Atomic int wrong;
} Shared;

static void *read_often(void *user_data) {
    Shared *const shared = user_data;
    for (int i = 0; i < 2000; ++i) {
        mdist_tensor_t tensor;
        const mdist_status_t status = mdist_value_tensor(shared->value, 0, &tensor, NULL);
        if (status != MDIST_OK && status != MDIST_ERR_BAD_HANDLE) ++shared->wrong;
        if (i == 1500) mdist_value_destroy(shared->value);
    }
    return NULL;
}

static void values_may_be_read_and_destroyed_by_many_threads(void **state) {
    (void)state;
    for (int turn = 0; turn < (is_long() ? 200 : 10); ++turn) {
        float number = 3;
        Shared shared = {.value = make_value(&number, MDIST_FLOAT32, 0)};
        pthread_t threads[4];
        for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, read_often, &shared), 0);
        for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
        assert_int_equal(shared.wrong, 0);
        assert_int_equal(mdist_value_kind(shared.value), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_value_is_a_copy),
        cmocka_unit_test(a_value_without_data_is_zeros),
        cmocka_unit_test(kinds_and_counts_are_told),
        cmocka_unit_test(bad_values_have_no_kind),
        cmocka_unit_test(tensors_that_cannot_be_are_refused),
        cmocka_unit_test(wrapped_memory_is_kept_and_freed_once),
        cmocka_unit_test(a_run_keeps_its_arguments),
        cmocka_unit_test(values_may_be_read_and_destroyed_by_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
