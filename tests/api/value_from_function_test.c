// SPDX-License-Identifier: Apache-2.0
// Values that a function makes, one for each replica. All must have the same structure.
#include "structure_support.h"

typedef int32_t (*Give)(uint32_t id, mdist_value_t **out);

/// What the function does, and how it was called.
typedef struct Calls {
    Give give;
    mdist_strategy_t *strategy;
    uint32_t ids[MAX_REPLICAS], count;
    uint32_t replica_count;
} Calls;

static int32_t recorded(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    Calls *calls = user_data;
    calls->ids[calls->count++] = replica_id;
    calls->replica_count = replica_count;
    return calls->give(replica_id, out);
}

static int32_t give_number(float x, mdist_value_t **out) {
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_value_create(&tensor, out, NULL) != MDIST_OK;
}

/// Makes a structure of two numbers.
static int32_t give_pair(const char *a, const char *b, float x, mdist_value_t **out) {
    const char *const paths[] = {a, b};
    mdist_value_t *leaves[2] = {NULL, NULL};
    int32_t wrong = give_number(x, &leaves[0]) || give_number(2 * x, &leaves[1]);
    wrong = wrong || mdist_value_structure(paths, leaves, 2, out, NULL) != MDIST_OK;
    mdist_value_destroy(leaves[0]);
    mdist_value_destroy(leaves[1]);
    return wrong;
}

static int32_t give_id(uint32_t id, mdist_value_t **out) {
    return give_number((float)id, out);
}
static int32_t give_structure(uint32_t id, mdist_value_t **out) {
    return give_pair("l.0", "l.1", (float)id, out);
}

static void each_replica_has_its_own_always_wrapped(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, n == 2 ? "caller" : NULL);
        Calls calls = {.give = give_id};
        mdist_value_t *value = NULL;
        OK(mdist_values_from_function(strategy, recorded, &calls, &value, &error));
        assert_int_equal(calls.count, n);
        assert_int_equal(calls.replica_count, n);
        assert_int_equal(mdist_value_kind(value), MDIST_VALUE_PER_REPLICA);
        assert_int_equal(mdist_value_count(value), n);
        for (uint32_t r = 0; r < n; ++r) {
            assert_int_equal(calls.ids[r], r);
            assert_true(scalar_at(value, "", r) == (float)r);
        }
        mdist_value_destroy(value);

        calls = (Calls){.give = give_structure};
        const char *const paths[] = {"l.0", "l.1"};
        OK(mdist_values_from_function(strategy, recorded, &calls, &value, &error));
        expect_paths(value, paths, 2);
        for (uint32_t r = 0; r < n; ++r) assert_true(scalar_at(value, "l.1", r) == 2 * (float)r);
        mdist_value_t *leaf = at(value, "l.0");
        assert_int_equal(mdist_value_kind(leaf), MDIST_VALUE_PER_REPLICA);
        mdist_value_destroy(leaf);
        mdist_value_destroy(value);
        mdist_strategy_destroy(strategy);
    }
}

// ---- Results of the function that are refused.

static int32_t give_nothing(uint32_t id, mdist_value_t **out) {
    return id == 0 ? give_number(1, out) : 0;
}
static int32_t give_and_fail(uint32_t id, mdist_value_t **out) {
    return give_id(id, out) != 0 ? 1 : id == 1 ? 77 : 0;
}
static int32_t give_other_paths(uint32_t id, mdist_value_t **out) {
    return give_pair("a", id == 0 ? "b" : "c", 1, out);
}
static int32_t give_other_kind(uint32_t id, mdist_value_t **out) {
    return id == 0 ? give_pair("a", "b", 1, out) : give_id(id, out);
}
static int32_t give_other_type(uint32_t id, mdist_value_t **out) {
    int32_t whole = 1;
    const mdist_tensor_t tensor = tensor_of(&whole, MDIST_INT32, 0);
    return id == 0 ? give_id(id, out) : mdist_value_create(&tensor, out, NULL) != MDIST_OK;
}
static mdist_strategy_t *of_two;
static int32_t give_mirrored(uint32_t id, mdist_value_t **out) {
    float x = (float)id;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_strategy_broadcast(of_two, &tensor, out, NULL) != MDIST_OK; // works: this is cross-replica context
}
static int32_t give_dead_handle(uint32_t id, mdist_value_t **out) {
    const int32_t wrong = give_id(id, out);
    mdist_value_destroy(*out);
    return wrong;
}
static int32_t give_empty(uint32_t id, mdist_value_t **out) {
    (void)id;
    return mdist_value_structure(NULL, NULL, 0, out, NULL) != MDIST_OK;
}

static void expect_refused(mdist_strategy_t *strategy, Give give, mdist_status_t status, int64_t native,
                           const char *words) {
    mdist_error_t *error = NULL;
    Calls calls = {.give = give};
    mdist_value_t *const untouched = (mdist_value_t *)&status;
    mdist_value_t *value = untouched;
    const mdist_status_t got = mdist_values_from_function(strategy, recorded, &calls, &value, &error);
    WORDS(error, words);
    assert_int_equal(got, status);
    assert_int_equal(mdist_error_native(error), native);
    assert_ptr_equal(value, untouched);
    mdist_error_free(error);
}

static void what_does_not_fit_together_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = of_two = make_strategy(2, NULL);
    expect_refused(strategy, give_nothing, MDIST_ERR_CALLBACK, 0, "replica 1 returned 0 but made no value");
    expect_refused(strategy, give_and_fail, MDIST_ERR_CALLBACK, 77, "replica 1 returned 77");
    expect_refused(strategy, give_other_paths, MDIST_ERR_MISMATCH, 0, "\"b\" on replica 0 and not on replica 1");
    expect_refused(strategy, give_other_kind, MDIST_ERR_MISMATCH, 0, "a tensor without a path on replica 1");
    expect_refused(strategy, give_other_type, MDIST_ERR_MISMATCH, 0, "float32 on local replica 0 and int32");
    expect_refused(strategy, give_mirrored, MDIST_ERR_CALLBACK, 0, "gave a mirrored value");
    expect_refused(strategy, give_dead_handle, MDIST_ERR_BAD_HANDLE, 0, "");
    mdist_value_t *value = NULL;
    Calls calls = {.give = give_empty};
    OK(mdist_values_from_function(strategy, recorded, &calls, &value, &error));
    expect_paths(value, NULL, 0);
    mdist_value_destroy(value);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_values_from_function(strategy, NULL, NULL, &value, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_values_from_function(strategy, recorded, &calls, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_values_from_function(NULL, recorded, &calls, &value, &error));
    mdist_strategy_destroy(strategy);
}

static int32_t in_step(mdist_replica_t *replica, void *user_data) {
    mdist_strategy_t *strategy = user_data;
    Calls calls = {.give = give_id};
    mdist_value_t *value = NULL;
    (void)replica;
    return mdist_values_from_function(strategy, recorded, &calls, &value, NULL) == MDIST_ERR_WRONG_CONTEXT &&
                   calls.count == 0
               ? 0
               : 1;
}

static void a_step_is_no_place_for_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    OK(mdist_run(strategy, in_step, strategy, NULL, &error));
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_replica_has_its_own_always_wrapped),
        cmocka_unit_test(what_does_not_fit_together_is_refused),
        cmocka_unit_test(a_step_is_no_place_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
