// SPDX-License-Identifier: Apache-2.0
// Structures are reduced and gathered leaf by leaf. Many values in one call give the same results as separate calls.
#include "structure_support.h"

// Sets result 0 to (x + 1, x - 1) of x = 3, as TensorFlow's tuple of two, and result 1 to each replica's id.
static int32_t set_pair(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return set_at(replica, 0, "0", 4) || set_at(replica, 0, "1", 2) ||
           set_at(replica, 1, "id", (float)mdist_replica_id(replica));
}

static void tuples_of_a_run_are_summed_up(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        mdist_value_t *results[2], *sum = NULL, *mean = NULL;
        OK(mdist_run(strategy, set_pair, NULL,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = results, .result_count = 2}, &error));
        sum = reduced(strategy, MDIST_SUM, results[0], NULL, 0);
        assert_int_equal(mdist_value_leaf_count(sum), 2);
        assert_true(scalar_at(sum, "0", 0) == 4 * (float)n && scalar_at(sum, "1", 0) == 2 * (float)n);
        mean = reduced(strategy, MDIST_MEAN, results[1], NULL, 0);
        assert_true(scalar_at(mean, "id", 0) == ((float)n - 1) / 2);
        mdist_value_destroy(sum);
        mdist_value_destroy(mean);

        // To all devices: the leaves are mirrored.
        OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, &results[0], NULL, 1, &sum, NULL, &error));
        for (uint32_t r = 0; r < n; ++r) assert_true(scalar_at(sum, "0", r) == 4 * (float)n);
        mdist_value_t *leaf = at(sum, "1");
        assert_int_equal(mdist_value_kind(leaf), MDIST_VALUE_MIRRORED);
        mdist_value_destroy(leaf);
        mdist_value_destroy(sum);
        mdist_value_destroy(results[0]);
        mdist_value_destroy(results[1]);
        mdist_strategy_destroy(strategy);
    }
}

static void axes_and_gathers_go_through_the_leaves(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    const int32_t axis0 = 0;
    float x[] = {1, 2, 6, 10, 20}, mean = 3, joined[] = {1, 2, 6};
    double whole_mean = 15;
    int32_t whole[] = {10, 20};
    const mdist_tensor_t uneven[] = {tensor_of(x, MDIST_FLOAT32, 2), tensor_of(x + 2, MDIST_FLOAT32, 1)};
    const mdist_tensor_t each[] = {tensor_of(whole, MDIST_INT32, 1), tensor_of(whole + 1, MDIST_INT32, 1)};
    const char *const paths[] = {"rows", "whole"};
    mdist_value_t *const leaves[] = {per_replica(strategy, uneven), per_replica(strategy, each)};
    mdist_value_t *value = structure(paths, leaves, 2), *out = NULL;
    out = reduced(strategy, MDIST_MEAN, value, &axis0, 1);
    expect_plain(at(out, "rows"), tensor_of(&mean, MDIST_FLOAT32, 0));
    expect_plain(at(out, "whole"), tensor_of(&whole_mean, MDIST_FLOAT64, 0));
    mdist_value_destroy(out);
    OK(mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    expect_paths(out, paths, 2);
    expect_plain(at(out, "rows"), tensor_of(joined, MDIST_FLOAT32, 3));
    expect_plain(at(out, "whole"), tensor_of(whole, MDIST_INT32, 2));
    mdist_value_destroy(out);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void a_structure_of_nothing_gives_one(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *value = NULL, *out = NULL;
    OK(mdist_value_structure(NULL, NULL, 0, &value, &error));
    out = reduced(strategy, MDIST_SUM, value, NULL, 0);
    expect_paths(out, NULL, 0);
    mdist_value_destroy(out);
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, &value, NULL, 1, &out, NULL, &error));
    expect_paths(out, NULL, 0);
    mdist_value_destroy(out);
    OK(mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    expect_paths(out, NULL, 0);
    mdist_value_destroy(out);
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, NULL, NULL, 0, NULL, NULL, &error));
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

static void expect_refused(mdist_strategy_t *strategy, mdist_status_t status, int op, mdist_value_t *value,
                           const char *words) {
    mdist_error_t *error = NULL;
    mdist_value_t *const untouched = (mdist_value_t *)&status;
    mdist_value_t *out = untouched;
    assert_int_equal(mdist_strategy_reduce(strategy, (mdist_reduce_op_t)op, value, &out, NULL, &error), status);
    WORDS(error, words);
    mdist_error_free(error);
    assert_int_equal(mdist_strategy_reduce_to(strategy, (mdist_reduce_op_t)op, &value, NULL, 1, &out, NULL, &error),
                     status);
    WORDS(error, words);
    mdist_error_free(error);
    assert_ptr_equal(out, untouched);
}

static void a_leaf_that_cannot_be_reduced_is_named(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL), *three = make_strategy(3, NULL);
    float x[] = {1, 2, 3};
    int32_t whole[] = {1, 2};
    const mdist_tensor_t alike[] = {tensor_of(x, MDIST_FLOAT32, 0), tensor_of(x + 1, MDIST_FLOAT32, 0)};
    const mdist_tensor_t uneven[] = {tensor_of(x, MDIST_FLOAT32, 2), tensor_of(x + 2, MDIST_FLOAT32, 1)};
    const mdist_tensor_t integers[] = {tensor_of(whole, MDIST_INT32, 0), tensor_of(whole + 1, MDIST_INT32, 0)};
    const char *const good_bad[] = {"a", "b.0"};
    const mdist_tensor_t *const bad[] = {uneven, integers};
    const int ops[] = {MDIST_SUM, MDIST_MEAN};
    const mdist_status_t statuses[] = {MDIST_ERR_MISMATCH, MDIST_ERR_INVALID_ARGUMENT};
    for (int i = 0; i < 2; ++i) {
        mdist_value_t *const leaves[] = {per_replica(strategy, alike), per_replica(strategy, bad[i])};
        mdist_value_t *value = structure(good_bad, leaves, 2);
        expect_refused(strategy, statuses[i], ops[i], value, "leaf \"b.0\": ");
        expect_refused(three, MDIST_ERR_INVALID_ARGUMENT, ops[i], value, "leaf \"a\": the value has 2 tensors");
        mdist_value_destroy(value);
    }
    mdist_value_t *const leaves[] = {per_replica(strategy, alike), number(5)};
    mdist_value_t *value = structure(good_bad, leaves, 2);
    expect_refused(strategy, MDIST_ERR_INVALID_ARGUMENT, MDIST_SUM, value,
                   "leaf \"b.0\": SUM needs a per-replica value; this one is plain");
    mdist_value_t *mean = reduced(strategy, MDIST_MEAN, value, NULL, 0);
    assert_true(scalar_at(mean, "a", 0) == 1.5f && scalar_at(mean, "b.0", 0) == 5);
    mdist_value_destroy(mean);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
    mdist_strategy_destroy(three);
}

// ---- Batches of many dtypes, shapes, kinds and targets give the results of separate calls.

enum { MANY = 40 };

static void expect_equal(const mdist_value_t *a, const mdist_value_t *b) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensor;
    assert_int_equal(mdist_value_kind(a), mdist_value_kind(b));
    assert_int_equal(mdist_value_leaf_count(a), mdist_value_leaf_count(b));
    for (size_t i = 0; i < mdist_value_count(a); ++i) {
        OK(mdist_value_tensor(b, i, &tensor, &error));
        expect_tensor(a, i, tensor);
    }
}

static void a_batch_gives_what_each_would_alone(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static unsigned char bytes[MAX_REPLICAS][4096];
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        mdist_value_t *values[MANY], *batch[MANY];
        const char *targets[MANY];
        for (uint32_t i = 0; i < MANY; ++i) {
            mdist_tensor_t tensors[MAX_REPLICAS];
            const int32_t dtype = 1 + (int32_t)(i % (DTYPES - 1)); // all but bool, which has no sum
            for (uint32_t r = 0; r < n; ++r) {
                fill(dtype, bytes[r], i * 10);
                bytes[r][0] = (unsigned char)r;
                tensors[r] = i % 5 == 0 ? tensor_of(bytes[r], dtype, 0) : shaped(bytes[r], dtype, i % 5, 7, NO);
            }
            values[i] = per_replica(strategy, tensors);
            targets[i] = i % 3 == 0 ? NULL : i % 3 == 1 ? "" : device_name(0);
        }
        // One value occurs twice, and some are in a structure.
        const char *const paths[] = {"x.0", "x.1"};
        mdist_value_t *pair = NULL, *pair_out = NULL, *given[MANY + 1];
        OK(mdist_value_structure(paths, values, 2, &pair, &error));
        memcpy(given, values, sizeof values);
        mdist_value_t *const with_pair[] = {values[3], pair, values[3]};
        mdist_value_t *three_out[3];
        OK(mdist_strategy_reduce_to(strategy, MDIST_MAX, given, targets, MANY, batch, NULL, &error));
        OK(mdist_strategy_reduce_to(strategy, MDIST_MAX, with_pair, NULL, 3, three_out, NULL, &error));
        expect_equal(three_out[0], three_out[2]);
        pair_out = three_out[1];
        expect_paths(pair_out, paths, 2);
        for (uint32_t i = 0; i < MANY; ++i) {
            mdist_value_t *alone = NULL;
            OK(mdist_strategy_reduce_to(strategy, MDIST_MAX, &values[i], (const char *const[]){targets[i]}, 1, &alone,
                                        NULL, &error));
            expect_equal(batch[i], alone);
            mdist_value_destroy(alone);
            if (i < 2) {
                mdist_value_t *leaf = at(pair_out, paths[i]);
                OK(mdist_strategy_reduce_to(strategy, MDIST_MAX, &values[i], NULL, 1, &alone, NULL, &error));
                expect_equal(leaf, alone);
                mdist_value_destroy(alone);
                mdist_value_destroy(leaf);
            }
        }
        for (uint32_t i = 0; i < MANY; ++i) mdist_value_destroy(values[i]), mdist_value_destroy(batch[i]);
        for (int i = 0; i < 3; ++i) mdist_value_destroy(three_out[i]);
        mdist_value_destroy(pair);
        mdist_strategy_destroy(strategy);
    }
}

static void a_batch_is_refused_as_a_whole(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float x[] = {1, 2};
    const mdist_tensor_t tensors[] = {tensor_of(x, MDIST_FLOAT32, 0), tensor_of(x + 1, MDIST_FLOAT32, 0)};
    mdist_value_t *value = per_replica(strategy, tensors);
    mdist_value_t *values[] = {value, NULL}, *out[] = {value, value};
    const char *const nowhere[] = {NULL, "cpu:7"};
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_strategy_reduce_to(strategy, MDIST_SUM, values, NULL, 2, out, NULL, &error));
    values[1] = value;
    assert_int_equal(mdist_strategy_reduce_to(strategy, MDIST_SUM, values, nowhere, 2, out, NULL, &error),
                     MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "\"cpu:7\"");
    mdist_error_free(error);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_reduce_to(strategy, MDIST_SUM, NULL, NULL, 2, out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_strategy_reduce_to(strategy, MDIST_SUM, values, NULL, 2, NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_strategy_reduce_to(strategy, (mdist_reduce_op_t)9, values, NULL, 2, out, NULL, &error));
    assert_ptr_equal(out[0], value);
    assert_ptr_equal(out[1], value);
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuples_of_a_run_are_summed_up),       cmocka_unit_test(axes_and_gathers_go_through_the_leaves),
        cmocka_unit_test(a_structure_of_nothing_gives_one),    cmocka_unit_test(a_leaf_that_cannot_be_reduced_is_named),
        cmocka_unit_test(a_batch_gives_what_each_would_alone), cmocka_unit_test(a_batch_is_refused_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
