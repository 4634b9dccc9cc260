// SPDX-License-Identifier: Apache-2.0
// mdist_map: which replica computes which element, what comes out, and a mean over it that counts elements.
#include "structure_support.h"

enum { MOST_ELEMENTS = 40 };

typedef struct Elements {
    _Atomic int calls[MOST_ELEMENTS];
    int32_t replica[MOST_ELEMENTS];
    uint64_t bad; // the element that does something wrong
} Elements;

/// Sets result 0 to the square of the element plus the argument.
static int32_t square(mdist_replica_t *replica, uint64_t element, void *user_data) {
    Elements *elements = user_data;
    ++elements->calls[element];
    elements->replica[element] = mdist_replica_id(replica);
    mdist_tensor_t offset;
    if (mdist_replica_argument(replica, 0, NULL, &offset, NULL) != MDIST_OK) return 1;
    return set_at(replica, 0, "", (float)(element * element) + *(const float *)offset.data);
}

static void expect_dealt(const Elements *elements, uint64_t count, uint32_t replicas) {
    for (uint64_t i = 0; i < MOST_ELEMENTS; ++i) {
        assert_int_equal(elements->calls[i], i < count);
        if (i < count) assert_int_equal(elements->replica[i], i % replicas);
    }
}

static void elements_are_dealt_out_in_turn_and_stacked(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        for (uint64_t count = 1; count <= 8; ++count) {
            mdist_strategy_t *strategy = make_strategy(n, count % 2 ? "caller" : NULL);
            float half = 0.5f, rows[8];
            mdist_value_t *offset = count % 3 ? number(half) : mirrored(strategy, tensor_of(&half, MDIST_FLOAT32, 0));
            mdist_value_t *out = NULL;
            Elements elements = {.calls = {0}};
            OK(mdist_map(strategy, count, square, &elements,
                         &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &offset, .argument_count = 1,
                                           .results = &out, .result_count = 1},
                         &error));
            expect_dealt(&elements, count, n);
            assert_int_equal(mdist_value_kind(out), MDIST_VALUE_PER_REPLICA);
            float sum = 0;
            for (uint32_t r = 0; r < n; ++r) {
                uint64_t k = 0;
                for (uint64_t i = r; i < count; i += n) rows[k++] = (float)(i * i) + half;
                for (uint64_t i = 0; i < k; ++i) sum += rows[i];
                expect_tensor(out, r, shaped(rows, MDIST_FLOAT32, k, NO, NO));
            }
            const int32_t axis0 = 0;
            float mean = sum / (float)count;
            expect_plain(reduced(strategy, MDIST_MEAN, out, &axis0, 1), tensor_of(&mean, MDIST_FLOAT32, 0));
            expect_plain(reduced(strategy, MDIST_SUM, out, &axis0, 1), tensor_of(&sum, MDIST_FLOAT32, 0));
            mdist_value_destroy(out);
            mdist_value_destroy(offset);
            mdist_strategy_destroy(strategy);
        }
    }
}

static int32_t set_structure(mdist_replica_t *replica, uint64_t element, void *user_data) {
    (void)user_data;
    float pair[] = {(float)element, (float)element + 0.5f};
    int32_t whole = (int32_t)element;
    const mdist_tensor_t two = tensor_of(pair, MDIST_FLOAT32, 2), one = tensor_of(&whole, MDIST_INT32, 0);
    return mdist_replica_set_result(replica, 0, "m.0", &two, NULL) != MDIST_OK ||
           mdist_replica_set_result(replica, 0, "m.1", &one, NULL) != MDIST_OK;
}

static void structures_are_stacked_leaf_by_leaf(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const char *const paths[] = {"m.0", "m.1"};
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *out[2] = {NULL, NULL};
    OK(mdist_map(strategy, 3, set_structure, NULL,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = out, .result_count = 2}, &error));
    assert_null(out[1]); // no element set it
    expect_paths(out[0], paths, 2);
    float first[] = {0, 0.5f, 2, 2.5f}, second[] = {1, 1.5f};
    int32_t numbers[] = {0, 2, 1};
    mdist_value_t *rows = at(out[0], "m.0"), *whole = at(out[0], "m.1");
    expect_tensor(rows, 0, shaped(first, MDIST_FLOAT32, 2, 2, NO));
    expect_tensor(rows, 1, shaped(second, MDIST_FLOAT32, 1, 2, NO));
    expect_tensor(whole, 0, tensor_of(numbers, MDIST_INT32, 2));
    expect_tensor(whole, 1, tensor_of(numbers + 2, MDIST_INT32, 1));
    mdist_value_destroy(rows);
    mdist_value_destroy(whole);
    mdist_value_destroy(out[0]);

    // Without results, any number of elements is allowed.
    OK(mdist_map(strategy, 0, set_structure, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// ---- Elements that do not fit.

static int32_t return_number(mdist_replica_t *replica, uint64_t element, void *user_data) {
    const Elements *elements = user_data;
    return set_at(replica, 0, "", 1) ? 1 : element == elements->bad ? 55 : 0;
}
static int32_t leave_out(mdist_replica_t *replica, uint64_t element, void *user_data) {
    const Elements *elements = user_data;
    return element == elements->bad ? 0 : set_at(replica, 0, "", 1);
}
static int32_t set_other_path(mdist_replica_t *replica, uint64_t element, void *user_data) {
    const Elements *elements = user_data;
    return set_at(replica, 0, element == elements->bad ? "b" : "a", 1);
}
static int32_t set_other_shape(mdist_replica_t *replica, uint64_t element, void *user_data) {
    const Elements *elements = user_data;
    float x[2] = {1, 2};
    const mdist_tensor_t tensor = tensor_of(x, MDIST_FLOAT32, element == elements->bad ? 2 : 1);
    return mdist_replica_set_result(replica, 0, "a", &tensor, NULL) != MDIST_OK;
}
static int32_t set_other_type(mdist_replica_t *replica, uint64_t element, void *user_data) {
    const Elements *elements = user_data;
    float x = 1;
    const mdist_tensor_t tensor = tensor_of(&x, element == elements->bad ? MDIST_INT32 : MDIST_FLOAT32, 0);
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) != MDIST_OK;
}
static int32_t set_eight_dimensions(mdist_replica_t *replica, uint64_t element, void *user_data) {
    float x = 1;
    mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 1);
    (void)element, (void)user_data;
    tensor.rank = MDIST_MAX_RANK;
    for (int i = 0; i < MDIST_MAX_RANK; ++i) tensor.shape[i] = 1;
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) != MDIST_OK;
}

static void expect_refused(mdist_strategy_t *strategy, mdist_element_fn function, uint64_t bad, mdist_status_t status,
                           const char *reason, const char *words) {
    mdist_error_t *error = NULL;
    Elements elements = {.bad = bad};
    mdist_value_t *const untouched = (mdist_value_t *)&status;
    mdist_value_t *out = untouched;
    const mdist_status_t got =
        mdist_map(strategy, 7, function, &elements,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &out, .result_count = 1}, &error);
    WORDS(error, words);
    assert_int_equal(got, status);
    assert_string_equal(mdist_error_reason(error), reason);
    assert_string_equal(mdist_error_operation(error), "mdist_map");
    if (status == MDIST_ERR_CALLBACK) assert_int_equal(mdist_error_native(error), 55);
    assert_ptr_equal(out, untouched);
    mdist_error_free(error);
}

static void an_element_that_does_not_fit_is_named(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    const mdist_status_t mismatch = MDIST_ERR_MISMATCH;
    expect_refused(strategy, return_number, 4, MDIST_ERR_CALLBACK, "", "the function of element 4 returned 55");
    expect_refused(strategy, leave_out, 4, mismatch, "different_paths", "for element 0 and not for element 4");
    expect_refused(strategy, leave_out, 0, mismatch, "different_paths", "and not for element 0, which has nothing");
    expect_refused(strategy, set_other_path, 5, mismatch, "different_paths", "result 0 has \"a\" for element 0");
    expect_refused(strategy, set_other_shape, 5, mismatch, "different_shapes",
                   "\"a\" of result 0 is float32 [1] for element 0 and float32 [2] for element 5");
    expect_refused(strategy, set_other_type, 1, mismatch, "different_dtypes", "int32 [] for element 1");
    expect_refused(strategy, set_eight_dimensions, 1, MDIST_ERR_INVALID_ARGUMENT, "", "has 8 dimensions");
    mdist_strategy_destroy(strategy);
}

static void arguments_are_the_same_for_all_elements(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float x[] = {1, 2};
    const mdist_tensor_t each[] = {tensor_of(x, MDIST_FLOAT32, 0), tensor_of(x + 1, MDIST_FLOAT32, 0)};
    const char *const paths[] = {"own"};
    mdist_value_t *const leaves[] = {per_replica(strategy, each)};
    mdist_value_t *argument = structure(paths, leaves, 1), *out = NULL;
    Elements elements = {.calls = {0}};
    assert_int_equal(mdist_map(strategy, 4, square, &elements,
                               &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1,
                                                 .results = &out, .result_count = 1},
                               &error),
                     MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "leaf \"own\": argument 0 is per-replica");
    mdist_error_free(error);
    assert_int_equal(mdist_map(strategy, 0, square, &elements,
                               &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &out, .result_count = 1}, &error),
                     MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "count is 0");
    mdist_error_free(error);
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_map(strategy, 4, NULL, NULL,
                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &out, .result_count = 1}, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_map(strategy, 4, square, NULL, &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = 1}, &error));
    expect_dealt(&elements, 0, 2);
    assert_null(out);
    mdist_value_destroy(argument);
    mdist_strategy_destroy(strategy);
}

static int32_t map_in_step(mdist_replica_t *replica, void *user_data) {
    mdist_error_t *error = NULL;
    (void)replica;
    const mdist_status_t status = mdist_map(user_data, 2, set_structure, NULL, NULL, &error);
    const int32_t wrong = status != MDIST_ERR_WRONG_CONTEXT || strstr(mdist_error_message(error), "mdist_map") == NULL;
    mdist_error_free(error);
    return wrong;
}

static void a_step_is_told_to_merge_first(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    OK(mdist_run(strategy, map_in_step, strategy, NULL, &error));
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_dealt_out_in_turn_and_stacked),
        cmocka_unit_test(structures_are_stacked_leaf_by_leaf),
        cmocka_unit_test(an_element_that_does_not_fit_is_named),
        cmocka_unit_test(arguments_are_the_same_for_all_elements),
        cmocka_unit_test(a_step_is_told_to_merge_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
