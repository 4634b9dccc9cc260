// SPDX-License-Identifier: Apache-2.0
// Variables by synchronization, aggregation and place of the call, with TensorFlow's worked examples.
#include "variable_support.h"

static void cross_replica_writes_reach_every_copy(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *v = scalar_variable(strategy, "v", 1, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    expect_copies(v, 1, 1);
    assign_outside(v, MDIST_ASSIGN_SET, 6);
    expect_copies(v, 6, 6);
    assign_outside(v, MDIST_ASSIGN_ADD, 1);
    expect_copies(v, 7, 7);
    assign_outside(v, MDIST_ASSIGN_SUB, 3);
    expect_copies(v, 4, 4);
    expect_read(v, 4);
    assign_each_outside(strategy, v, MDIST_ASSIGN_SET, 10, 20);
    expect_copies(v, 10, 20);
    expect_read(v, 10);
    assign_each_outside(strategy, v, MDIST_ASSIGN_ADD, 1, 2);
    expect_copies(v, 11, 22);
    mdist_variable_destroy(v);
    mdist_strategy_destroy(strategy);
}

typedef struct Case {
    int synchronization, aggregation, assign;
    float initial, written[2], copies[2];
} Case;

static void writes_in_a_step_follow_the_aggregation(void **state) {
    (void)state;
    enum { W = MDIST_SYNC_ON_WRITE, R = MDIST_SYNC_ON_READ };
    enum { SET = MDIST_ASSIGN_SET, ADD = MDIST_ASSIGN_ADD, SUB = MDIST_ASSIGN_SUB };
    enum {
        NONE = MDIST_AGGREGATION_NONE,
        SUM = MDIST_AGGREGATION_SUM,
        MEAN = MDIST_AGGREGATION_MEAN,
        FIRST = MDIST_AGGREGATION_ONLY_FIRST_REPLICA
    };
    static const Case cases[] = {
        {W, MEAN, ADD, 1, {0, 1}, {1.5f, 1.5f}}, {W, MEAN, SUB, 5, {0, 1}, {4.5f, 4.5f}},
        {W, MEAN, SET, 1, {5, 5}, {5, 5}},       {W, MEAN, ADD, 1, {5, 5}, {6, 6}},
        {W, MEAN, SUB, 5, {1, 1}, {4, 4}},       {W, SUM, SET, 1, {2, 2}, {4, 4}},
        {W, MEAN, SET, 1, {2, 2}, {2, 2}},       {W, FIRST, SET, 1, {2, 2}, {2, 2}},
        {W, SUM, ADD, 1, {2, 3}, {6, 6}},        {W, SUM, SUB, 1, {2, 3}, {-4, -4}},
        {W, FIRST, SET, 1, {8, 9}, {8, 8}},      {W, FIRST, ADD, 1, {8, 9}, {9, 9}},
        {W, FIRST, SUB, 1, {8, 9}, {-7, -7}},    {W, NONE, SET, 1, {8, 9}, {8, 9}},
        {W, NONE, ADD, 1, {8, 9}, {9, 10}},      {W, NONE, SUB, 1, {8, 9}, {-7, -8}},
        {R, FIRST, ADD, 2, {5, 10}, {7, 12}},    {R, SUM, ADD, 1, {5, 10}, {6, 11}},
        {R, MEAN, SET, 1, {0, 6}, {0, 6}},       {R, NONE, SUB, 1, {5, 10}, {-4, -9}},
    };
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const Case *const c = &cases[i];
        mdist_variable_t *v = scalar_variable(strategy, "v", c->initial, c->synchronization, c->aggregation);
        assign_in_step(strategy, v, c->assign, c->written);
        expect_copies(v, c->copies[0], c->copies[1]);
        mdist_variable_destroy(v);
    }
    mdist_strategy_destroy(strategy);
}

static void sync_on_read_aggregates_when_read(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *out = NULL;
    // SUM: 1 on both copies reads 2. Set to 6, each copy is 3, and it reads 6. Adding is refused.
    mdist_variable_t *v = scalar_variable(strategy, "v", 1, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM);
    expect_read(v, 2);
    assign_outside(v, MDIST_ASSIGN_SET, 6);
    expect_copies(v, 3, 3);
    expect_read(v, 6);
    float one = 1;
    mdist_value_t *value = make_value(&one, MDIST_FLOAT32, 0);
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_variable_assign(v, MDIST_ASSIGN_ADD, value, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_variable_assign(v, MDIST_ASSIGN_SUB, value, &error));
    mdist_value_destroy(value);
    expect_copies(v, 3, 3);
    mdist_variable_destroy(v);
    // MEAN: 1 reads 1. Set to 6, each copy is 6. Copies 0 and 6 read 3.
    v = scalar_variable(strategy, "v", 1, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_MEAN);
    expect_read(v, 1);
    assign_outside(v, MDIST_ASSIGN_SET, 6);
    expect_copies(v, 6, 6);
    expect_read(v, 6);
    const float zero_six[2] = {0, 6};
    assign_in_step(strategy, v, MDIST_ASSIGN_SET, zero_six);
    expect_read(v, 3);
    assign_outside(v, MDIST_ASSIGN_ADD, 1);
    expect_copies(v, 1, 7);
    mdist_variable_destroy(v);
    v = scalar_variable(strategy, "v", 2, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_ONLY_FIRST_REPLICA);
    const float five_ten[2] = {5, 10};
    assign_in_step(strategy, v, MDIST_ASSIGN_ADD, five_ten);
    expect_copies(v, 7, 12);
    expect_read(v, 7);
    mdist_variable_destroy(v);
    v = scalar_variable(strategy, "v", 2, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_NONE);
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_variable_read(v, &out, NULL, &error));
    assign_outside(v, MDIST_ASSIGN_SET, 5);
    expect_copies(v, 5, 5);
    mdist_variable_destroy(v);
    mdist_strategy_destroy(strategy);
}

static void integers_divide_and_wrap(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    mdist_variable_options_t options = {sizeof options, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM, 0, NULL};
    int8_t initial = 0, numbers[] = {-7, 100, -128}, third[] = {-2, 33, -42};
    mdist_tensor_t tensor = tensor_of(&initial, MDIST_INT8, 0), copy;
    mdist_variable_t *v = NULL;
    OK(mdist_variable_create(strategy, "v", &tensor, &v, &options, &error));
    for (int i = 0; i < 3; ++i) {
        mdist_value_t *value = make_value(&numbers[i], MDIST_INT8, 0);
        OK(mdist_variable_assign(v, MDIST_ASSIGN_SET, value, &error));
        mdist_value_destroy(value);
        for (uint32_t r = 0; r < 3; ++r) {
            OK(mdist_variable_tensor(v, r, &copy, &error));
            assert_int_equal(*(int8_t *)copy.data, third[i]);
        }
    }
    mdist_variable_destroy(v);
    // A step counter with ONLY_FIRST_REPLICA: if each of three replicas adds one, it grows by one.
    options.synchronization = MDIST_SYNC_AUTO;
    uint8_t zero = 0, one = 1;
    tensor = tensor_of(&zero, MDIST_UINT8, 0);
    OK(mdist_variable_create(strategy, "v", &tensor, &v, &options, &error));
    mdist_value_t *value = make_value(&one, MDIST_UINT8, 0);
    OK(mdist_variable_assign(v, MDIST_ASSIGN_SUB, value, &error));
    mdist_value_destroy(value);
    OK(mdist_variable_tensor(v, 2, &copy, &error));
    assert_int_equal(*(uint8_t *)copy.data, 255);
    mdist_variable_destroy(v);
    options.aggregation = MDIST_AGGREGATION_MEAN;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "v", &tensor, &v, &options, &error));
    mdist_strategy_destroy(strategy);
}

static void options_that_cannot_be_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float data = 1;
    const mdist_tensor_t tensor = tensor_of(&data, MDIST_FLOAT32, 0);
    const mdist_variable_options_t bad[] = {
        {sizeof bad[0], 3, 0, 0, NULL},
        {sizeof bad[0], -1, 0, 0, NULL},
        {sizeof bad[0], 0, 4, 0, NULL},
        {sizeof bad[0], 0, -1, 0, NULL},
        {sizeof bad[0], 0, 0, 1, NULL},
        {0, 0, 0, 0, NULL},
        {8, 0, 0, 0, NULL},
        {1u << 30, 0, 0, 0, NULL},
    };
    mdist_variable_t *v = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "v", &tensor, &v, &bad[i], &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "", &tensor, &v, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "bad\xff name", &tensor, &v, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, NULL, &tensor, &v, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "v", NULL, &v, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "v", &tensor, NULL, NULL, &error));
    mdist_tensor_t huge = shaped(NULL, MDIST_FLOAT64, (uint64_t)1 << 59, NO, NO);
    FAILS(MDIST_ERR_OUT_OF_MEMORY, mdist_variable_create(strategy, "v", &huge, &v, NULL, &error));
    assert_null(v);
    // None of the failed calls has used up the name.
    OK(mdist_variable_create(strategy, "v", &tensor, &v, NULL, &error));
    mdist_variable_t *second = NULL;
    const mdist_status_t status = mdist_variable_create(strategy, "v", &tensor, &second, NULL, &error);
    WORDS(error, "\"v\"");
    assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
    mdist_error_free(error);
    assert_string_equal(mdist_variable_name(v), "v");
    mdist_variable_destroy(v);
    assert_string_equal(mdist_variable_name(v), "");
    OK(mdist_variable_create(strategy, "v", &tensor, &v, NULL, &error)); // can be used again
    mdist_variable_destroy(v);
    mdist_strategy_destroy(strategy);
}

static void writes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *two = make_strategy(2, NULL), *three = make_strategy(3, NULL);
    mdist_variable_t *v = scalar_variable(two, "v", 1, 0, MDIST_AGGREGATION_NONE);
    float data[3] = {4, 5, 6};
    mdist_tensor_t tensors[3] = {tensor_of(data, MDIST_FLOAT32, 0), tensor_of(data, MDIST_FLOAT32, 0),
                                 tensor_of(data, MDIST_FLOAT32, 0)};
    mdist_value_t *other = per_replica(three, tensors);
    mdist_value_t *shape = make_value(data, MDIST_FLOAT32, 1), *type = make_value(data, MDIST_INT32, 0);
    mdist_value_t *good = make_value(data, MDIST_FLOAT32, 0);
    tensors[1] = tensor_of(data, MDIST_FLOAT32, 2);
    mdist_value_t *half = per_replica(two, tensors); // the tensor of copy 0 would fit
    mdist_value_t *const bad[] = {other, shape, type, half};
    for (int i = 0; i < 4; ++i)
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_assign(v, MDIST_ASSIGN_SET, bad[i], &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_assign(v, (mdist_assign_t)0, good, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_assign(v, (mdist_assign_t)4, good, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_variable_assign(NULL, MDIST_ASSIGN_SET, good, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_variable_assign(v, MDIST_ASSIGN_SET, NULL, &error));
    mdist_tensor_t tensor;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_tensor(v, 2, &tensor, &error));
    expect_copies(v, 1, 1);
    for (int i = 0; i < 4; ++i) mdist_value_destroy(bad[i]);
    mdist_value_destroy(good);
    mdist_variable_destroy(v);
    mdist_strategy_destroy(three);
    mdist_strategy_destroy(two);
}

// ---- Arithmetic of all types.

static void random_writes_agree_with_plain_arithmetic(void **state) {
    (void)state;
    seed_random(20240901);
    mdist_error_t *error = NULL;
    enum { ELEMENTS = 700 };
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int32_t dtype = 1; dtype <= DTYPES; ++dtype)
        for (int assign = MDIST_ASSIGN_SET; assign <= MDIST_ASSIGN_SUB; ++assign) {
            if (dtype == MDIST_BOOL && assign != MDIST_ASSIGN_SET) continue; // truth values are not added
            const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
            static unsigned char before[ELEMENTS * 8], operand[ELEMENTS * 8], negative[ELEMENTS * 8],
                wanted[ELEMENTS * 8];
            fill(dtype, before, ELEMENTS);
            fill(dtype, operand, ELEMENTS);
            for (uint64_t i = 0; i < ELEMENTS; ++i) {
                if (is_integer(dtype)) {
                    const uint64_t x = 0 - load_whole(dtype, operand + i * size);
                    memcpy(negative + i * size, &x, size);
                } else {
                    memcpy(negative + i * size, operand + i * size, size);
                    negative[i * size + size - 1] ^= 0x80;
                }
            }
            const unsigned char *sources[2] = {before, assign == MDIST_ASSIGN_SUB ? negative : operand};
            if (assign != MDIST_ASSIGN_SET) reduce_plainly(MDIST_SUM, dtype, sources, 2, wanted, ELEMENTS);
            if (assign == MDIST_ASSIGN_SET) memcpy(wanted, operand, ELEMENTS * size);
            const mdist_tensor_t initial = tensor_of(before, (mdist_dtype_t)dtype, ELEMENTS);
            mdist_variable_t *v = NULL;
            OK(mdist_variable_create(strategy, "v", &initial, &v, NULL, &error));
            mdist_value_t *value = make_value(operand, (mdist_dtype_t)dtype, ELEMENTS);
            OK(mdist_variable_assign(v, (mdist_assign_t)assign, value, &error));
            mdist_value_destroy(value);
            for (uint32_t r = 0; r < 3; ++r) {
                mdist_tensor_t copy;
                OK(mdist_variable_tensor(v, r, &copy, &error));
                assert_memory_equal(copy.data, wanted, ELEMENTS * size);
            }
            mdist_variable_destroy(v);
        }
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cross_replica_writes_reach_every_copy),
        cmocka_unit_test(writes_in_a_step_follow_the_aggregation),
        cmocka_unit_test(sync_on_read_aggregates_when_read),
        cmocka_unit_test(integers_divide_and_wrap),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(writes_that_do_not_fit_are_refused),
        cmocka_unit_test(random_writes_agree_with_plain_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
