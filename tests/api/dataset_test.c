/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets through the public headers: ownership, values, distribution, and what is refused. */
#include <mdist/mdist.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 10 };

static int64_t numbers[ROWS];
static uint8_t labels[ROWS];

static int prepare(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; ++i) {
        numbers[i] = i;
        labels[i] = (uint8_t)(100 + i);
    }
    return 0;
}

static void count_free(void *user_data) {
    ++*(int *)user_data;
}

static mdist_dataset_t *source(int *freed) {
    const uint64_t rows = ROWS;
    mdist_tensor_t arrays[2];
    mdist_dataset_t *dataset = NULL;
    assert_int_equal(mdist_tensor_describe(numbers, MDIST_INT64, &rows, 1, &arrays[0], NULL), MDIST_OK);
    assert_int_equal(mdist_tensor_describe(labels, MDIST_UINT8, &rows, 1, &arrays[1], NULL), MDIST_OK);
    assert_int_equal(mdist_dataset_from_tensors(arrays, 2, freed, freed ? count_free : NULL, &dataset, NULL, NULL),
                     MDIST_OK);
    assert_int_equal(mdist_dataset_component_count(dataset), 2);
    return dataset;
}

static mdist_dataset_t *batches_of_4(void) {
    mdist_dataset_t *rows = source(NULL);
    mdist_dataset_t *out = NULL;
    assert_int_equal(mdist_dataset_batch(rows, 4, &out, NULL, NULL), MDIST_OK);
    mdist_dataset_destroy(rows);
    return out;
}

static mdist_strategy_t *replicas(const char *devices) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    assert_int_equal(mdist_config_create(&config, NULL), MDIST_OK);
    assert_int_equal(mdist_config_set(config, "devices", devices, NULL), MDIST_OK);
    assert_int_equal(mdist_strategy_create(config, &strategy, NULL), MDIST_OK);
    mdist_config_destroy(config);
    return strategy;
}

static void arrays_are_freed_once_after_the_last_value(void **state) {
    (void)state;
    int freed = 0;
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *values[2];
    mdist_tensor_t tensor;
    mdist_dataset_t *dataset = source(&freed);
    assert_int_equal(mdist_iterator_create(dataset, &iterator, NULL), MDIST_OK);
    mdist_dataset_destroy(dataset);
    assert_int_equal(mdist_iterator_next(iterator, values, 2, NULL), MDIST_OK);
    mdist_iterator_destroy(iterator);
    mdist_value_destroy(values[0]);
    assert_int_equal(freed, 0);
    assert_int_equal(mdist_value_kind(values[1]), MDIST_VALUE_PLAIN);
    assert_int_equal(mdist_value_tensor(values[1], 0, &tensor, NULL), MDIST_OK);
    assert_ptr_equal(tensor.data, &labels[0]);
    mdist_value_destroy(values[1]);
    assert_int_equal(freed, 1);
}

static int32_t refuse(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                      size_t output_count, void *user_data) {
    (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)user_data;
    return 42;
}

static void registrations_that_fail_are_freed_too(void **state) {
    (void)state;
    int freed = 0;
    mdist_dataset_t *out = NULL;
    mdist_tensor_t scalar;
    assert_int_equal(mdist_tensor_describe(numbers, MDIST_INT64, NULL, 0, &scalar, NULL), MDIST_OK);
    assert_int_equal(mdist_dataset_from_tensors(&scalar, 1, &freed, count_free, &out, NULL, NULL),
                     MDIST_ERR_INVALID_ARGUMENT);
    assert_int_equal(freed, 1);
    assert_int_equal(mdist_dataset_from_tensors(NULL, 1, &freed, count_free, &out, NULL, NULL),
                     MDIST_ERR_INVALID_ARGUMENT);
    assert_int_equal(mdist_dataset_from_tensors(&scalar, 1, &freed, count_free, NULL, NULL, NULL),
                     MDIST_ERR_INVALID_ARGUMENT);
    assert_int_equal(mdist_dataset_map(NULL, refuse, &freed, count_free, &scalar, 1, &out, NULL, NULL),
                     MDIST_ERR_BAD_HANDLE);
    assert_int_equal(freed, 4);
    mdist_dataset_t *dataset = source(NULL);
    assert_int_equal(mdist_dataset_map(dataset, NULL, &freed, count_free, &scalar, 1, &out, NULL, NULL),
                     MDIST_ERR_INVALID_ARGUMENT);
    assert_int_equal(freed, 5);
    mdist_dataset_destroy(dataset);
    assert_null(out);
}

static void a_map_that_returns_a_number_is_the_error_for_ever(void **state) {
    (void)state;
    int freed = 0;
    mdist_dataset_t *dataset = source(NULL);
    mdist_dataset_t *mapped = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_tensor_t scalar;
    assert_int_equal(mdist_tensor_describe(NULL, MDIST_INT64, NULL, 0, &scalar, NULL), MDIST_OK);
    assert_int_equal(mdist_dataset_map(dataset, refuse, &freed, count_free, &scalar, 1, &mapped, NULL, NULL), MDIST_OK);
    assert_int_equal(mdist_iterator_create(mapped, &iterator, NULL), MDIST_OK);
    for (int i = 0; i < 2; ++i) {
        mdist_error_t *error = NULL;
        assert_int_equal(mdist_iterator_next(iterator, &value, 1, &error), MDIST_ERR_CALLBACK);
        assert_int_equal(mdist_error_native(error), 42);
        assert_string_equal(mdist_error_operation(error), "mdist_iterator_next");
        mdist_error_free(error);
    }
    assert_int_equal(mdist_iterator_next(iterator, &value, 2, NULL), MDIST_ERR_INVALID_ARGUMENT);
    mdist_dataset_destroy(mapped);
    mdist_dataset_destroy(dataset);
    assert_int_equal(freed, 0);
    mdist_iterator_destroy(iterator);
    assert_int_equal(freed, 1);
}

typedef struct seen {
    mdist_iterator_t *iterator;
    uint64_t rows[3];
    int64_t first[3];
    mdist_status_t inside[3];
} seen_t;

static int32_t look(mdist_replica_t *replica, void *user_data) {
    seen_t *seen = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_tensor_t tensor;
    mdist_value_t *values[2];
    if (mdist_replica_argument(replica, 0, NULL, &tensor, NULL) != MDIST_OK) return 1;
    seen->rows[id] = tensor.shape[0];
    seen->first[id] = tensor.shape[0] == 0 ? -1 : *(const int64_t *)tensor.data;
    seen->inside[id] = mdist_iterator_next(seen->iterator, values, 2, NULL);
    return 0;
}

static void three_replicas_see_their_slices_in_a_run(void **state) {
    (void)state;
    static const uint64_t rows[3][3] = {{2, 2, 0}, {2, 2, 0}, {1, 1, 0}};
    static const int64_t first[3][3] = {{0, 2, -1}, {4, 6, -1}, {8, 9, -1}};
    mdist_strategy_t *strategy = replicas("cpu*3");
    mdist_dataset_t *batches = batches_of_4();
    mdist_dataset_t *distributed = NULL;
    mdist_dataset_t *further = NULL;
    mdist_value_t *values[2];
    seen_t seen = {0};
    assert_int_equal(mdist_distribute_dataset(strategy, batches, &distributed, NULL, NULL), MDIST_OK);
    assert_int_equal(mdist_dataset_repeat(distributed, 2, &further, NULL, NULL), MDIST_ERR_FAILED_PRECONDITION);
    assert_int_equal(mdist_iterator_create(distributed, &seen.iterator, NULL), MDIST_OK);
    for (int step = 0; step < 3; ++step) {
        assert_int_equal(mdist_iterator_next(seen.iterator, values, 2, NULL), MDIST_OK);
        assert_int_equal(mdist_value_kind(values[1]), MDIST_VALUE_PER_REPLICA);
        assert_int_equal(mdist_value_count(values[1]), 3);
        assert_int_equal(
            mdist_run(strategy, look, &seen,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = values, .argument_count = 2}, NULL),
            MDIST_OK);
        assert_memory_equal(seen.rows, rows[step], sizeof seen.rows);
        assert_memory_equal(seen.first, first[step], sizeof seen.first);
        for (int i = 0; i < 3; ++i) assert_int_equal(seen.inside[i], MDIST_ERR_WRONG_CONTEXT);
        mdist_value_destroy(values[0]);
        mdist_value_destroy(values[1]);
    }
    for (int i = 0; i < 2; ++i) assert_int_equal(mdist_iterator_next(seen.iterator, values, 2, NULL), MDIST_END);
    mdist_iterator_destroy(seen.iterator);
    mdist_dataset_destroy(distributed);
    mdist_dataset_destroy(batches);
    mdist_strategy_destroy(strategy);
}

static void an_unbatched_dataset_is_not_distributed(void **state) {
    (void)state;
    mdist_strategy_t *strategy = replicas("cpu*2");
    mdist_dataset_t *rows = source(NULL);
    mdist_dataset_t *out = NULL;
    mdist_error_t *error = NULL;
    assert_int_equal(mdist_distribute_dataset(strategy, rows, &out, NULL, &error), MDIST_ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(mdist_error_message(error), "mdist_dataset_batch"));
    mdist_error_free(error);
    mdist_dataset_destroy(rows);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_freed_once_after_the_last_value),
        cmocka_unit_test(registrations_that_fail_are_freed_too),
        cmocka_unit_test(a_map_that_returns_a_number_is_the_error_for_ever),
        cmocka_unit_test(three_replicas_see_their_slices_in_a_run),
        cmocka_unit_test(an_unbatched_dataset_is_not_distributed),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
