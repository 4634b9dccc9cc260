// SPDX-License-Identifier: Apache-2.0
// Datasets from a function of the program, one for a worker or one for each replica. The library takes over their
// handles.
#include "dealt.h"

/// What the function does, and with which contexts it was called.
typedef struct Maker {
    mdist_input_context_t contexts[4];
    size_t calls;
    int64_t rows; // of pipeline 0; each later one has one row more
    uint64_t batch;
    int drop_remainder;
    mdist_dataset_t *given;  // the last handle it gave
    int32_t code;            // the number it returns
    int forgets;             // makes no dataset
    mdist_strategy_t *deals; // if not NULL: gives a dataset that is distributed already
} Maker;

static int32_t make(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    Maker *self = user_data;
    if (self->calls < 4) self->contexts[self->calls] = *context;
    ++self->calls;
    if (self->forgets) return 0;
    self->given = numbers_in_batches(self->rows + context->pipeline, self->batch, self->drop_remainder);
    if (self->deals != NULL) {
        mdist_dataset_t *const source = self->given;
        mdist_distribute_dataset(self->deals, source, &self->given, NULL, NULL);
        mdist_dataset_destroy(source);
    }
    *out = self->given;
    return self->code;
}

/// Checks what `maker` gives for this number of replicas. `options` may be NULL.
static void expect_made(uint32_t replicas, Maker *maker, const mdist_input_options_t *options, const char *wanted) {
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(replicas, "threads");
    mdist_dataset_t *distributed = NULL;
    OK(mdist_distribute_from_function(strategy, make, maker, &distributed, options, &error));
    assert_int_equal(mdist_dataset_component_count(maker->given), 0); // the library has taken over the handle
    for (int iteration = 0; iteration < 2; ++iteration) {
        const Dealt got = dealt_by(strategy, distributed);
        assert_int_equal(got.status, MDIST_END);
        if (strcmp(got.text, wanted) != 0) fail_msg("got    %s\nwanted %s", got.text, wanted);
    }
    mdist_dataset_destroy(distributed);
    mdist_strategy_destroy(strategy);
}

static void replicas_take_elements_in_turn(void **state) {
    (void)state;
    Maker maker = {.rows = 9, .batch = 2};
    expect_made(2, &maker, NULL, "[0,1] [2,3] | [4,5] [6,7] | [8] []");
    assert_int_equal(maker.calls, 1);
    const mdist_input_context_t wanted = {sizeof wanted, 1, 0, 2};
    assert_memory_equal(&maker.contexts[0], &wanted, sizeof wanted);
    Maker even = {.rows = 10, .batch = 2};
    expect_made(3, &even, NULL, "[0,1] [2,3] [4,5] | [6,7] [8,9] []");
    Maker full = {.rows = 9, .batch = 2, .drop_remainder = 1};
    expect_made(2, &full, NULL, "[0,1] [2,3] | [4,5] [6,7]");
    Maker scalars = {.rows = 4};
    expect_made(2, &scalars, NULL, "0 1 | 2 3");
}

static void each_replica_can_have_a_dataset_of_its_own(void **state) {
    (void)state;
    const mdist_input_options_t each = {.struct_size = sizeof each, .replication_mode = MDIST_REPLICATION_PER_REPLICA};
    Maker maker = {.rows = 2, .batch = 2};
    expect_made(3, &maker, &each, "[0,1] [0,1] [0,1] | [] [2] [2,3]");
    assert_int_equal(maker.calls, 3);
    for (uint32_t i = 0; i < 3; ++i) {
        const mdist_input_context_t wanted = {sizeof wanted, 3, i, 3};
        assert_memory_equal(&maker.contexts[i], &wanted, sizeof wanted);
    }
    const mdist_input_options_t whole = {.struct_size = sizeof whole,
                                         .flags = MDIST_INPUT_WHOLE_STEPS,
                                         .replication_mode = MDIST_REPLICATION_PER_REPLICA};
    Maker again = {.rows = 2, .batch = 2};
    expect_made(3, &again, &whole, "[0,1] [0,1] [0,1]");
    const mdist_input_options_t placed = {.struct_size = sizeof placed,
                                          .flags = MDIST_INPUT_PLACE_ON_DEVICE,
                                          .replication_mode = MDIST_REPLICATION_PER_REPLICA};
    Maker there = {.rows = 2, .batch = 2};
    expect_made(2, &there, &placed, "[0,1] [0,1] | [] [2]");
    const mdist_input_options_t ahead = {.struct_size = sizeof ahead,
                                         .replication_mode = MDIST_REPLICATION_PER_REPLICA,
                                         .fetch_to_device = 1,
                                         .buffer_size = 2};
    Maker fast = {.rows = 2, .batch = 2};
    expect_made(2, &fast, &ahead, "[0,1] [0,1] | [] [2]");
}

/// Checks that the call fails like this, and takes over the function's dataset if there is one.
static void expect_refused(Maker *maker, mdist_status_t wanted, int64_t native) {
    mdist_strategy_t *strategy = make_strategy(2, "threads");
    mdist_dataset_t *out = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_distribute_from_function(strategy, make, maker, &out, NULL, &error);
    expect_status(wanted, status, error, "mdist_distribute_from_function", __FILE__, __LINE__);
    assert_int_equal(mdist_error_native(error), native);
    mdist_error_free(error);
    assert_null(out);
    assert_int_equal(mdist_dataset_component_count(maker->given), 0);
    mdist_strategy_destroy(strategy);
}

static void a_function_can_fail(void **state) {
    (void)state;
    Maker failing = {.rows = 4, .batch = 2, .code = 17};
    expect_refused(&failing, MDIST_ERR_CALLBACK, 17);
    Maker forgetting = {.forgets = 1};
    expect_refused(&forgetting, MDIST_ERR_CALLBACK, 0);
    mdist_strategy_t *other = make_strategy(2, "threads");
    Maker distributing = {.rows = 4, .batch = 2, .deals = other};
    expect_refused(&distributing, MDIST_ERR_FAILED_PRECONDITION, 0);
    mdist_strategy_destroy(other);
}

static void what_is_the_functions_part_is_no_option(void **state) {
    (void)state;
    const double weights[2] = {1, 1};
    const mdist_input_options_t options[] = {
        {.struct_size = sizeof options[0], .policy = MDIST_SHARD_FILE},
        {.struct_size = sizeof options[0], .uneven = MDIST_UNEVEN_DROP},
        {.struct_size = sizeof options[0], .weights = weights, .weight_count = 2},
        {.struct_size = sizeof options[0], .flags = MDIST_INPUT_PLACE_ON_DEVICE},
        {.struct_size = sizeof options[0],
         .flags = MDIST_INPUT_PLACE_ON_DEVICE,
         .replication_mode = MDIST_REPLICATION_PER_REPLICA,
         .fetch_to_device = 1},
    };
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, "threads");
    mdist_dataset_t *out = NULL;
    Maker maker = {.rows = 4, .batch = 2};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        FAILS(MDIST_ERR_INVALID_ARGUMENT,
              mdist_distribute_from_function(strategy, make, &maker, &out, &options[i], &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_distribute_from_function(strategy, NULL, NULL, &out, NULL, &error));
    assert_int_equal(maker.calls, 0);
    mdist_strategy_destroy(strategy);
}

static void a_global_batch_is_shared_evenly_or_not_at_all(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_input_context_t context = {sizeof context, 2, 1, 6};
    uint64_t rows = 0;
    OK(mdist_input_context_batch_size(&context, 12, &rows, &error));
    assert_int_equal(rows, 2);
    const mdist_status_t status = mdist_input_context_batch_size(&context, 13, &rows, &error);
    assert_int_equal(status, MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "13");
    WORDS(error, "6 replicas");
    mdist_error_free(error);
    error = NULL;
    assert_int_equal(rows, 2);
    context.replica_count = 0;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_input_context_batch_size(&context, 12, &rows, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_input_context_batch_size(NULL, 12, &rows, &error));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_take_elements_in_turn),
        cmocka_unit_test(each_replica_can_have_a_dataset_of_its_own),
        cmocka_unit_test(a_function_can_fail),
        cmocka_unit_test(what_is_the_functions_part_is_no_option),
        cmocka_unit_test(a_global_batch_is_shared_evenly_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
