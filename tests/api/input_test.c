// SPDX-License-Identifier: Apache-2.0
// Datasets distributed to the replicas of one worker: which rows each replica gets, what is known beforehand, and
// options.
#include "dataset_options.h"
#include "dealt.h"

static mdist_dataset_t *dealt_out(mdist_strategy_t *strategy, mdist_dataset_t *source,
                                  const mdist_input_options_t *options) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *distributed = NULL;
    OK(mdist_distribute_dataset(strategy, source, &distributed, options, &error));
    mdist_dataset_destroy(source);
    return distributed;
}

static void expect_text(const char *got, const char *wanted) {
    if (strcmp(got, wanted) != 0) fail_msg("got    %s\nwanted %s", got, wanted);
}

/// Distributes `source` to this number of replicas, and checks two iterations.
static void expect_dealt(uint32_t replicas, mdist_dataset_t *source, const mdist_input_options_t *options,
                         const char *wanted, const char *rows) {
    mdist_strategy_t *strategy = make_strategy(replicas, "threads");
    mdist_dataset_t *distributed = dealt_out(strategy, source, options);
    for (int iteration = 0; iteration < 2; ++iteration) {
        const Dealt got = dealt_by(strategy, distributed);
        assert_int_equal(got.status, MDIST_END);
        expect_text(got.text, wanted);
        expect_text(got.rows, rows);
    }
    mdist_dataset_destroy(distributed);
    mdist_strategy_destroy(strategy);
}

static void batches_are_cut_over_replicas(void **state) {
    (void)state;
    expect_dealt(3, numbers_in_batches(10, 4, 0), NULL, "[0,1] [2,3] [] | [4,5] [6,7] [] | [8] [9] []",
                 "2 2 0 | 2 2 0 | 1 1 0");
    expect_dealt(2, numbers_in_batches(8, 3, 0), NULL, "[0,1] [2] | [3,4] [5] | [6] [7]", "2 1 | 2 1 | 1 1");
    expect_dealt(2, numbers_in_batches(5, 2, 1), NULL, "[0] [1] | [2] [3]", "1 1 | 1 1");
    expect_dealt(1, numbers_in_batches(5, 2, 0), NULL, "[0,1] | [2,3] | [4]", "2 | 2 | 1");
    expect_dealt(2, numbers_in_batches(0, 2, 0), NULL, "", "");
}

static void elements_go_to_replicas_in_turn_where_nothing_is_split(void **state) {
    (void)state;
    const mdist_input_options_t turns = {.struct_size = sizeof turns, .flags = MDIST_INPUT_NO_SPLIT};
    const mdist_input_options_t whole = {.struct_size = sizeof whole,
                                         .flags = MDIST_INPUT_NO_SPLIT | MDIST_INPUT_WHOLE_STEPS};
    expect_dealt(2, numbers_in_batches(9, 2, 0), &turns, "[0,1] [2,3] | [4,5] [6,7] | [8] []", "2 2 | 2 2 | 1 0");
    expect_dealt(2, numbers_in_batches(9, 2, 0), &whole, "[0,1] [2,3] | [4,5] [6,7]", "2 2 | 2 2");
    expect_dealt(3, numbers_in_batches(7, 2, 0), &turns, "[0,1] [2,3] [4,5] | [6] [] []", "2 2 2 | 1 0 0");
}

static int32_t keep_all(const mdist_tensor_t *inputs, size_t count, int32_t *keep, void *user_data) {
    (void)inputs, (void)count, (void)user_data;
    *keep = 1;
    return 0;
}

/// Batches may all be full while the last step is not. Datasets in which all batches are full are distributed like
/// others.
static void rows_that_fill_their_batches_are_not_lost(void **state) {
    (void)state;
    const mdist_input_options_t turns = {.struct_size = sizeof turns, .flags = MDIST_INPUT_NO_SPLIT};
    const char *const five = "[0,1] [2,3] [4,5] | [6,7] [8,9] []";
    mdist_error_t *error = NULL;
    mdist_dataset_t *source = numbers_in_batches(10, 2, 0), *kept = NULL, *ahead = NULL;
    OK(mdist_dataset_filter(source, keep_all, NULL, NULL, &kept, NULL, &error));
    OK(mdist_dataset_prefetch(source, 2, &ahead, NULL, &error));
    expect_dealt(3, source, &turns, five, "2 2 2 | 2 2 0");
    expect_dealt(3, kept, &turns, five, "2 2 2 | 2 2 0");
    expect_dealt(3, ahead, &turns, five, "2 2 2 | 2 2 0");
    expect_dealt(3, numbers_in_batches(4, 1, 0), &turns, "[0] [1] [2] | [3] [] []", "1 1 1 | 1 0 0");
    expect_dealt(4, numbers_in_batches(10, 2, 0), NULL,
                 "[0] [1] [] [] | [2] [3] [] [] | [4] [5] [] [] | [6] [7] [] [] "
                 "| [8] [9] [] []",
                 "1 1 0 0 | 1 1 0 0 | 1 1 0 0 | 1 1 0 0 | 1 1 0 0");
    expect_dealt(1, numbers_in_batches(4, 2, 0), &turns, "[0,1] | [2,3]", "2 | 2");
    mdist_dataset_t *pairs = numbers_in_batches(12, 2, 0), *batches_of_pairs = NULL;
    OK(mdist_dataset_batch(pairs, 3, &batches_of_pairs, &whole_batches,
                           &error)); // the library cannot know that all pairs are full
    mdist_dataset_destroy(pairs);
    mdist_strategy_t *strategy = make_strategy(3, "threads");
    mdist_dataset_t *distributed = dealt_out(strategy, batches_of_pairs, &turns);
    expect_text(dealt_by(strategy, distributed).rows, "3 3 0");
    mdist_dataset_destroy(distributed);
    mdist_strategy_destroy(strategy);
}

static void rows_can_be_shared_otherwise(void **state) {
    (void)state;
    const double weights[] = {1, 2, 1};
    const mdist_input_options_t spread = {.struct_size = sizeof spread, .uneven = MDIST_UNEVEN_SPREAD};
    const mdist_input_options_t drop = {.struct_size = sizeof drop, .uneven = MDIST_UNEVEN_DROP};
    const mdist_input_options_t weighted = {.struct_size = sizeof weighted, .weights = weights, .weight_count = 3};
    expect_dealt(3, numbers_in_batches(6, 4, 0), &spread, "[0,1] [2] [3] | [4] [5] []", "2 1 1 | 1 1 0");
    expect_dealt(3, numbers_in_batches(6, 4, 0), &drop, "[0] [1] [2]", "1 1 1");
    expect_dealt(3, numbers_in_batches(6, 4, 0), &weighted, "[0] [1,2] [3] | [4] [5] []", "1 2 1 | 1 1 0");
}

/// A shape that was promised holds for every replica, so an incomplete last step is dropped.
static void elements_of_one_shape_come_in_whole_steps(void **state) {
    (void)state;
    const mdist_input_options_t turns = {.struct_size = sizeof turns, .flags = MDIST_INPUT_NO_SPLIT};
    expect_dealt(2, numbers_in_batches(3, 0, 0), &turns, "0 1", "1 1");
    expect_dealt(2, numbers_in_batches(6, 2, 1), &turns, "[0,1] [2,3]", "2 2");
}

static void the_next_elements_are_made_ahead(void **state) {
    (void)state;
    for (uint64_t buffer = 0; buffer < 4; ++buffer) {
        const mdist_input_options_t ahead = {
            .struct_size = sizeof ahead, .fetch_to_device = 1, .buffer_size = buffer == 3 ? UINT64_MAX : buffer};
        expect_dealt(3, numbers_in_batches(10, 4, 0), &ahead, "[0,1] [2,3] [] | [4,5] [6,7] [] | [8] [9] []",
                     "2 2 0 | 2 2 0 | 1 1 0");
    }
}

// ---- What is known beforehand.

static uint64_t rows_known(uint32_t replicas, uint64_t batch, int drop) {
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(replicas, "threads");
    mdist_dataset_t *distributed = dealt_out(strategy, numbers_in_batches(22, batch, drop), NULL);
    mdist_tensor_t component;
    int32_t kind = 0;
    OK(mdist_dataset_component(distributed, 0, &component, NULL, &kind, &error));
    assert_int_equal(kind, MDIST_VALUE_PER_REPLICA);
    assert_int_equal(component.rank, 1);
    mdist_dataset_destroy(distributed);
    mdist_strategy_destroy(strategy);
    return component.shape[0];
}

static void rows_are_known_where_all_batches_are_full_and_shared_evenly(void **state) {
    (void)state;
    assert_int_equal(rows_known(2, 4, 1), 2);
    assert_int_equal(rows_known(3, 4, 1), MDIST_UNKNOWN_LENGTH);
    assert_int_equal(rows_known(2, 4, 0), MDIST_UNKNOWN_LENGTH);
    assert_int_equal(rows_known(1, 4, 1), 4);
}

static void rows_are_those_of_the_last_element(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, "threads");
    mdist_dataset_t *source = numbers_in_batches(3, 3, 0);
    mdist_iterator_t *plain = NULL, *iterator = NULL;
    OK(mdist_iterator_create(source, &plain, &error));
    mdist_dataset_t *distributed = dealt_out(strategy, source, NULL);
    OK(mdist_iterator_create(distributed, &iterator, &error));
    uint64_t rows[3] = {7, 7, 7};
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_iterator_row_counts(plain, rows, 2, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_iterator_row_counts(iterator, rows, 2, &error));
    mdist_value_t *value = NULL;
    OK(mdist_iterator_next(iterator, &value, 1, &error));
    mdist_value_destroy(value);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_iterator_row_counts(iterator, rows, 3, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_iterator_row_counts(iterator, NULL, 2, &error));
    assert_int_equal(rows[0], 7);
    OK(mdist_iterator_row_counts(iterator, rows, 2, &error));
    assert_int_equal(rows[0], 2);
    assert_int_equal(rows[1], 1);
    assert_int_equal(rows[2], 7);
    char state_text[512];
    OK(mdist_iterator_save(iterator, state_text, sizeof state_text, NULL, &error));
    OK(mdist_iterator_restore(iterator, state_text, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_iterator_row_counts(iterator, rows, 2, &error)); // no element yet
    mdist_iterator_destroy(plain);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(distributed);
    mdist_strategy_destroy(strategy);
}

static void how_a_dataset_is_dealt_out_can_be_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, "threads");
    mdist_dataset_t *source = numbers_in_batches(8, 4, 0);
    mdist_dataset_t *distributed = dealt_out(strategy, source, NULL);
    char text[2048];
    size_t needed = 0;
    OK(mdist_dataset_explain(distributed, NULL, 0, &needed, &error));
    assert_in_range(needed, 2, sizeof text);
    OK(mdist_dataset_explain(distributed, text, sizeof text, &needed, &error));
    assert_int_equal(strlen(text) + 1, needed);
    assert_non_null(strstr(text, "DATA"));
    mdist_dataset_destroy(distributed);
    source = numbers_in_batches(8, 4, 0);
    OK(mdist_dataset_explain(source, text, sizeof text, NULL, &error));
    assert_non_null(strstr(text, "batch(4"));
    mdist_dataset_destroy(source);
    mdist_strategy_destroy(strategy);
}

// ---- Invalid options.

typedef struct BadOptions {
    mdist_input_options_t options;
    mdist_status_t status;
    const char *words;
} BadOptions;

static const double kWeights[] = {1, 2, 3};

static const BadOptions bad_options[] = {
    {{.flags = 8}, MDIST_ERR_INVALID_ARGUMENT, "flags is 8"},
    {{.policy = -2}, MDIST_ERR_INVALID_ARGUMENT, "policy is -2"},
    {{.policy = 4}, MDIST_ERR_INVALID_ARGUMENT, "policy is 4"},
    {{.policy = (int32_t)(uint32_t)MDIST_ONE_PER_WORKER}, MDIST_ERR_INVALID_ARGUMENT, "policy is "},
    {{.uneven = 3}, MDIST_ERR_INVALID_ARGUMENT, "uneven is 3"},
    {{.replication_mode = 2}, MDIST_ERR_INVALID_ARGUMENT, "replication_mode is 2"},
    {{.replication_mode = 1}, MDIST_ERR_UNSUPPORTED, "mdist_distribute_from_function"},
    {{.fetch_to_device = 2}, MDIST_ERR_INVALID_ARGUMENT, "fetch_to_device is 2"},
    {{.flags = MDIST_INPUT_PLACE_ON_DEVICE}, MDIST_ERR_INVALID_ARGUMENT, "PER_REPLICA"},
    {{.flags = MDIST_INPUT_PLACE_ON_DEVICE, .replication_mode = 1, .fetch_to_device = 1},
     MDIST_ERR_INVALID_ARGUMENT,
     "fetch_to_device"},
    {{.weights = kWeights, .weight_count = 3}, MDIST_ERR_INVALID_ARGUMENT, "weight_count is 3"},
    {{.weight_count = 2}, MDIST_ERR_INVALID_ARGUMENT, "weights"},
    {{.flags = MDIST_INPUT_NO_SPLIT, .weights = kWeights, .weight_count = 2}, MDIST_ERR_INVALID_ARGUMENT, "NO_SPLIT"},
    {{.flags = MDIST_INPUT_NO_SPLIT, .uneven = MDIST_UNEVEN_DROP}, MDIST_ERR_INVALID_ARGUMENT, "NO_SPLIT"},
};

static void options_that_are_none_are_refused(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, "threads");
    mdist_dataset_t *source = numbers_in_batches(8, 4, 0), *out = NULL;
    for (size_t i = 0; i < sizeof bad_options / sizeof *bad_options; ++i) {
        mdist_input_options_t options = bad_options[i].options;
        options.struct_size = sizeof options;
        mdist_error_t *error = NULL;
        const mdist_status_t status = mdist_distribute_dataset(strategy, source, &out, &options, &error);
        WORDS(error, bad_options[i].words);
        assert_int_equal(status, bad_options[i].status);
        mdist_error_free(error);
        assert_null(out);
    }
    mdist_dataset_destroy(source);
    mdist_strategy_destroy(strategy);
}

static void what_cannot_be_dealt_out_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, "threads");
    mdist_dataset_t *scalars = numbers_in_batches(8, 0, 0), *batches = numbers_in_batches(8, 2, 0), *out = NULL;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_distribute_dataset(strategy, scalars, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_distribute_dataset(strategy, batches, NULL, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_distribute_dataset(strategy, NULL, &out, NULL, &error));
    mdist_dataset_t *distributed = NULL;
    OK(mdist_distribute_dataset(strategy, batches, &distributed, NULL, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_distribute_dataset(strategy, distributed, &out, NULL, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_dataset_batch(distributed, 2, &out, NULL, &error));
    assert_null(out);
    mdist_dataset_destroy(distributed);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(scalars);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_cut_over_replicas),
        cmocka_unit_test(elements_go_to_replicas_in_turn_where_nothing_is_split),
        cmocka_unit_test(rows_that_fill_their_batches_are_not_lost),
        cmocka_unit_test(rows_can_be_shared_otherwise),
        cmocka_unit_test(elements_of_one_shape_come_in_whole_steps),
        cmocka_unit_test(the_next_elements_are_made_ahead),
        cmocka_unit_test(rows_are_known_where_all_batches_are_full_and_shared_evenly),
        cmocka_unit_test(rows_are_those_of_the_last_element),
        cmocka_unit_test(how_a_dataset_is_dealt_out_can_be_told),
        cmocka_unit_test(options_that_are_none_are_refused),
        cmocka_unit_test(what_cannot_be_dealt_out_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
