// SPDX-License-Identifier: Apache-2.0
// TensorFlow's worked examples with one, two and three replicas, and those that fail a run.
#include "cases_variables.h"

static void examples_come_out_with_any_number_of_replicas(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        char said[128] = "";
        try_cases(strategy, said, sizeof said);
        assert_string_equal(said, "");
        mdist_strategy_destroy(strategy);
    }
}

/// Checks that the run fails like this, and that the strategy works afterwards.
static void expect_failure(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data, mdist_status_t wanted,
                           const char *words) {
    mdist_error_t *error = NULL;
    mdist_value_t *result = NULL;
    const mdist_status_t status =
        mdist_run(strategy, step, user_data,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error);
    WORDS(error, words);
    assert_int_equal(status, wanted);
    assert_null(result);
    mdist_error_free(error);
    assert_int_equal(case_replica_ids(strategy), 0);
}

static int32_t list_of_id_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    char path[16];
    for (uint32_t i = 0; i < mdist_replica_id(replica); ++i) {
        snprintf(path, sizeof path, "%d", i);
        if (set_scalar(replica, 0, path, 0) != 0) return 1;
    }
    return 0;
}

static void lists_of_different_lengths_are_refused(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        expect_failure(strategy, list_of_id_step, NULL, MDIST_ERR_MISMATCH, "\"0\" on replica 1 and not on replica 0");
        mdist_strategy_destroy(strategy);
    }
}

// ---- Failures at any depth: in a step, in its merge, in a run inside that merge, in a merge of that run.

static int32_t fail_step(mdist_replica_t *replica, void *user_data);

static int32_t fail_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                          mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)results, (void)result_count;
    int *const depth = user_data;
    if (--*depth == 0) return 77;
    mdist_error_t *error = NULL;
    mdist_run(strategy, fail_step, depth, NULL, &error);
    const int32_t native = (int32_t)mdist_error_native(error);
    mdist_error_free(error);
    return native;
}

static int32_t fail_step(mdist_replica_t *replica, void *user_data) {
    int *const depth = user_data;
    // All replicas read `depth` before the barrier. After it, one thread writes it before the merge.
    const int here = *depth == 1;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 1;
    if (here) return 77;
    if (mdist_replica_local_index(replica) == 0) --*depth;
    return mdist_merge_call(replica, fail_merge, depth, NULL, 0, NULL, 0, NULL, NULL) != MDIST_OK ? 78 : 0;
}

static void a_failure_comes_out_of_any_depth(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int depth = 1; depth <= 4; ++depth) {
            int left = depth;
            assert_int_equal(mdist_run(strategy, fail_step, &left, NULL, &error), MDIST_ERR_CALLBACK);
            assert_int_equal(mdist_error_native(error), 77);
            mdist_error_free(error);
            assert_int_equal(case_replica_ids(strategy), 0);
        }
        mdist_strategy_destroy(strategy);
    }
}

static int32_t uneven_all_reduce_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float x[3] = {0};
    const mdist_buffer_t buffer = buffer_of(x, MDIST_FLOAT32, (uint64_t)mdist_replica_id(replica) + 1);
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK;
}

static void shapes_that_differ_are_both_named(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    expect_failure(strategy, uneven_all_reduce_step, NULL, MDIST_ERR_MISMATCH, "float32 x 1");
    expect_failure(strategy, uneven_all_reduce_step, NULL, MDIST_ERR_MISMATCH, "float32 x 2");
    mdist_strategy_destroy(strategy);
}

static void what_does_not_gather_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float x[2] = {0};
    int64_t index = 0;
    mdist_tensor_t one = tensor_of(x, MDIST_FLOAT32, 1), pair = tensor_of(x, MDIST_FLOAT32, 2), flat = pair;
    flat.rank = 2;
    flat.shape[0] = 1;
    flat.shape[1] = 2;
    const mdist_tensor_t ranks[] = {one, flat}, rows[] = {one, one};
    const mdist_tensor_t numbers[] = {tensor_of(&index, MDIST_INT64, 1), tensor_of(&index, MDIST_INT64, 1)};
    mdist_value_t *values[4] = {NULL, NULL, NULL, NULL}, *out = NULL;
    OK(mdist_value_per_replica(strategy, ranks, 2, &values[0], &error));
    OK(mdist_value_per_replica(strategy, rows, 2, &values[1], &error));
    OK(mdist_value_per_replica(strategy, numbers, 2, &values[2], &error));
    OK(mdist_value_sparse(values[2], values[1], &values[3], &error));
    FAILS(MDIST_ERR_MISMATCH, mdist_strategy_gather(strategy, values[0], 0, &out, NULL, &error));
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_strategy_gather(strategy, values[3], 0, &out, NULL, &error));
    assert_null(out);
    for (int i = 0; i < 4; ++i) mdist_value_destroy(values[i]);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_come_out_with_any_number_of_replicas),
        cmocka_unit_test(lists_of_different_lengths_are_refused),
        cmocka_unit_test(a_failure_comes_out_of_any_depth),
        cmocka_unit_test(shapes_that_differ_are_both_named),
        cmocka_unit_test(what_does_not_gather_is_refused),
    };
    quiet_log();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
