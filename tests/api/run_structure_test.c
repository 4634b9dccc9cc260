// SPDX-License-Identifier: Apache-2.0
// Structures as arguments and results of runs: TensorFlow's worked examples, and replicas that disagree.
#include "step_support.h"
#include "structure_support.h"

// Sets the results of a step. What it does wrong depends on the replica's id.
typedef int (*SetResults)(mdist_replica_t *replica, float id);

static int32_t set_step(mdist_replica_t *replica, void *user_data) {
    const SetResults set = *(SetResults *)user_data;
    return set(replica, (float)mdist_replica_id(replica));
}

static mdist_value_t *result_of(mdist_strategy_t *strategy, SetResults set) {
    mdist_error_t *error = NULL;
    mdist_value_t *result = NULL;
    OK(mdist_run(strategy, set_step, (void *)&set,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
    return result;
}

static int set_names(mdist_replica_t *replica, float id) {
    return set_at(replica, 0, "b", 2) || set_at(replica, 0, "a", 99) || set_at(replica, 0, "a", id);
}
static int set_list(mdist_replica_t *replica, float id) {
    return set_at(replica, 0, "1", 3) || set_at(replica, 0, "0", id);
}

static void results_come_back_as_they_were_set(void **state) {
    (void)state;
    const char *const names[] = {"a", "b"}, *const list[] = {"0", "1"};
    for (uint32_t n = 1; n <= 3; ++n) {
        for (int caller = 0; caller < 2; ++caller) {
            mdist_strategy_t *strategy = make_strategy(n, caller ? "caller" : NULL);
            mdist_value_t *value = result_of(strategy, set_names);
            expect_paths(value, names, 2);
            for (uint32_t r = 0; r < n; ++r) {
                assert_true(scalar_at(value, "a", r) == (float)r);
                assert_true(scalar_at(value, "b", r) == 2);
            }
            mdist_value_t *a = at(value, "a");
            assert_int_equal(mdist_value_kind(a), MDIST_VALUE_PER_REPLICA);
            mdist_value_destroy(a);
            mdist_value_destroy(value);
            value = result_of(strategy, set_list);
            expect_paths(value, list, 2);
            for (uint32_t r = 0; r < n; ++r) assert_true(scalar_at(value, "0", r) == (float)r);
            mdist_value_destroy(value);
            mdist_strategy_destroy(strategy);
        }
    }
}

// out1 = r + 1; out2 = {a: 2x, b: x^2} of out1; out3 = a + 2b + 2 of out2.
static int32_t first(mdist_replica_t *replica, void *user_data) {
    return set_at(replica, 0, "", *(const float *)user_data + (float)mdist_replica_id(replica));
}
static int32_t second(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const float x = argument_at(replica, 0, "");
    return set_at(replica, 0, "a", 2 * x) || set_at(replica, 0, "b", x * x);
}
static int32_t third(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return set_at(replica, 0, "", argument_at(replica, 0, "a") + 2 * argument_at(replica, 0, "b") + 2);
}

typedef mdist_status_t (*Run)(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data, const mdist_run_io_t *io,
                              mdist_error_t **error);

static void chain(mdist_strategy_t *strategy, float begin, const float *wanted, Run run) {
    mdist_error_t *error = NULL;
    mdist_value_t *one = NULL, *two = NULL, *three = NULL;
    OK(run(strategy, first, &begin, &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &one, .result_count = 1},
           &error));
    OK(run(strategy, second, NULL,
           &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &one, .argument_count = 1, .results = &two,
                             .result_count = 1},
           &error));
    OK(run(strategy, third, NULL,
           &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &two, .argument_count = 1, .results = &three,
                             .result_count = 1},
           &error));
    for (uint32_t r = 0; r < mdist_strategy_local_replica_count(strategy); ++r) {
        const float x = begin + (float)r;
        assert_true(scalar_at(two, "a", r) == 2 * x && scalar_at(two, "b", r) == x * x);
        assert_true(scalar_at(three, "", r) == wanted[r]);
    }
    mdist_value_destroy(one);
    mdist_value_destroy(two);
    mdist_value_destroy(three);
}

static void results_are_arguments_of_the_next_run(void **state) {
    (void)state;
    const float two[] = {6, 14, 26}, one[] = {42};
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        chain(strategy, 1, two, mdist_run);
        chain(strategy, 1, two, run_own);
        if (n == 1) chain(strategy, 4, one, mdist_run);
        mdist_strategy_destroy(strategy);
    }
}

// ---- Replicas that set different things.

static int set_range_of_id(mdist_replica_t *replica, float id) { // list(range(id))
    char path[16];
    for (int i = 0; i < (int)id; ++i) {
        snprintf(path, sizeof path, "%d", i);
        if (set_at(replica, 0, path, (float)i)) return 1;
    }
    return 0;
}
static int set_longer_list(mdist_replica_t *replica, float id) {
    return set_at(replica, 0, "x.0", 0) || (id == 1 && set_at(replica, 0, "x.1", 0));
}
static int set_other_name(mdist_replica_t *replica, float id) {
    return set_at(replica, 0, "a", 0) || set_at(replica, 0, id == 1 ? "c" : "b", 0);
}
static int set_tensor_or_name(mdist_replica_t *replica, float id) {
    return set_at(replica, 0, id == 0 ? "" : "a", 0);
}
static int set_both(mdist_replica_t *replica, float id) {
    (void)id;
    return set_at(replica, 0, "", 0) || set_at(replica, 0, "a", 0);
}
static int set_gap(mdist_replica_t *replica, float id) {
    (void)id;
    return set_at(replica, 0, "a.1", 0);
}
static int set_other_type(mdist_replica_t *replica, float id) {
    int32_t whole = 1;
    const mdist_tensor_t tensor = tensor_of(&whole, MDIST_INT32, 0);
    return id == 0 ? set_at(replica, 0, "a", 0) : mdist_replica_set_result(replica, 0, "a", &tensor, NULL) != MDIST_OK;
}

static void expect_no_result(mdist_strategy_t *strategy, SetResults set, mdist_status_t status, const char *reason,
                             const char *words) {
    mdist_error_t *error = NULL;
    mdist_value_t *const untouched = (mdist_value_t *)&status;
    mdist_value_t *result = untouched;
    const mdist_status_t got =
        mdist_run(strategy, set_step, (void *)&set,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error);
    WORDS(error, words);
    assert_int_equal(got, status);
    assert_string_equal(mdist_error_reason(error), reason);
    assert_ptr_equal(result, untouched);
    mdist_error_free(error);
    // The strategy works afterwards.
    mdist_value_destroy(result_of(strategy, set_names));
}

static void replicas_with_different_paths_fail_the_run(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    const char *reason = "different_paths";
    expect_no_result(strategy, set_range_of_id, MDIST_ERR_MISMATCH, reason,
                     "result 0 has \"0\" on replica 1 and not on replica 0, which has nothing");
    expect_no_result(strategy, set_longer_list, MDIST_ERR_MISMATCH, reason,
                     "\"x.1\" on replica 1 and not on replica 0");
    expect_no_result(strategy, set_other_name, MDIST_ERR_MISMATCH, reason, "\"b\" on replica 0 and not on replica 1");
    expect_no_result(strategy, set_tensor_or_name, MDIST_ERR_MISMATCH, reason,
                     "a tensor without a path on replica 0 and not on replica 1");
    expect_no_result(strategy, set_other_type, MDIST_ERR_MISMATCH, "different_dtypes", "\"a\" of result 0 is float32");
    expect_no_result(strategy, set_both, MDIST_ERR_INVALID_ARGUMENT, "", "path \"\" is the whole value");
    expect_no_result(strategy, set_gap, MDIST_ERR_INVALID_ARGUMENT, "", "result 0: path \"a.1\": positions in \"a\"");
    mdist_strategy_destroy(strategy);
}

// ---- Arguments.

static int32_t refuse_arguments(mdist_replica_t *replica, void *user_data) {
    Note *const notes = user_data;
    Note *self = &notes[mdist_replica_local_index(replica)];
    mdist_error_t *error = NULL;
    mdist_tensor_t tensor;
    const mdist_tensor_t none = tensor_of(NULL, MDIST_FLOAT32, 0);
#define REFUSED(status, call) note(self, status, call, &error, #call)
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 0, NULL, &tensor, &error));
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 0, "", &tensor, &error));
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 0, "m", &tensor, &error));
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 0, "m..a", &tensor, &error));
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 0, NULL, &tensor, &error));
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_argument(replica, 2, "m.a", &tensor, &error));
    REFUSED(MDIST_ERR_NOT_FOUND, mdist_replica_argument(replica, 0, "m.c", &tensor, &error));
    REFUSED(MDIST_ERR_NOT_FOUND, mdist_replica_argument(replica, 1, "m", &tensor, &error));
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_set_result(replica, 0, "a", &none, &error));
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_set_result(replica, 0, "a.", &none, &error));
    REFUSED(MDIST_OK, mdist_replica_argument(replica, 0, "m.b", &tensor, &error));
    const int32_t wrong = *(const float *)tensor.data != 2;
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, mdist_replica_set_result(replica, 1, "a", &tensor, &error));
    return wrong;
}

static void a_step_reads_leaves_and_nothing_else(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL), *three = make_strategy(3, NULL);
    const char *const paths[] = {"m.a", "m.b"};
    float x = 1;
    mdist_value_t *const leaves[] = {mirrored(strategy, tensor_of(&x, MDIST_FLOAT32, 0)), number(2)};
    mdist_value_t *arguments[] = {structure(paths, leaves, 2), number(3)}, *result = NULL;
    Note notes[2] = {{""}, {""}};
    OK(mdist_run(strategy, refuse_arguments, notes,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 2,
                                   .results = &result, .result_count = 1},
                 &error));
    for (int i = 0; i < 2; ++i) assert_string_equal(notes[i].text, "");
    assert_null(result);

    // A leaf that has another number of replicas.
    assert_int_equal(mdist_run(three, refuse_arguments, notes,
                               &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 1,
                                                 .results = &result, .result_count = 1},
                               &error),
                     MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "leaf \"m.a\": argument 0 has 2 tensors");
    mdist_error_free(error);
    mdist_value_destroy(arguments[0]);
    mdist_value_destroy(arguments[1]);
    mdist_strategy_destroy(strategy);
    mdist_strategy_destroy(three);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_back_as_they_were_set),
        cmocka_unit_test(results_are_arguments_of_the_next_run),
        cmocka_unit_test(replicas_with_different_paths_fail_the_run),
        cmocka_unit_test(a_step_reads_leaves_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
