// SPDX-License-Identifier: Apache-2.0
// Structures: how they are made and taken apart, and which paths are refused.
#include "structure_support.h"

static void leaves_are_found_by_path_in_one_order(void **state) {
    (void)state;
    const char *const given[] = {"loss",    "grads.10", "grads.2", "grads.0", "grads.1", "grads.3", "a.b",
                                 "grads.4", "grads.5",  "grads.6", "grads.7", "grads.8", "grads.9"};
    const char *const sorted[] = {"a.b",     "grads.0", "grads.1", "grads.2", "grads.3",  "grads.4", "grads.5",
                                  "grads.6", "grads.7", "grads.8", "grads.9", "grads.10", "loss"};
    mdist_value_t *leaves[13];
    for (int i = 0; i < 13; ++i) leaves[i] = number((float)i);
    mdist_value_t *value = structure(given, leaves, 13);
    expect_paths(value, sorted, 13);
    assert_int_equal(mdist_value_count(value), 0);
    for (int i = 0; i < 13; ++i) assert_true(scalar_at(value, given[i], 0) == (float)i);
    assert_string_equal(mdist_value_leaf_path(value, 13), "");
    mdist_value_destroy(value);
}

static void a_part_is_a_structure_that_outlives_the_whole(void **state) {
    (void)state;
    const char *const paths[] = {"m.w.0", "m.w.1", "m.b", "mw"};
    mdist_value_t *const leaves[] = {number(1), number(2), number(3), number(4)};
    mdist_value_t *value = structure(paths, leaves, 4);
    mdist_value_t *model = at(value, "m"), *whole = at(value, ""), *w = at(model, "w");
    mdist_value_destroy(value);
    const char *const in_model[] = {"b", "w.0", "w.1"}, *const in_w[] = {"0", "1"};
    expect_paths(model, in_model, 3);
    expect_paths(w, in_w, 2);
    assert_int_equal(mdist_value_leaf_count(whole), 4);
    assert_true(scalar_at(model, "w.1", 0) == 2 && scalar_at(w, "1", 0) == 2 && scalar_at(whole, "mw", 0) == 4);
    mdist_value_destroy(model);
    mdist_value_destroy(w);
    mdist_value_destroy(whole);
}

static void structures_nest(void **state) {
    (void)state;
    const char *const list[] = {"1", "0"}, *const named[] = {"loss", "grads"};
    mdist_value_t *const two[] = {number(11), number(10)};
    mdist_value_t *const both[] = {number(5), structure(list, two, 2)};
    mdist_value_t *value = structure(named, both, 2);
    const char *const paths[] = {"grads.0", "grads.1", "loss"};
    expect_paths(value, paths, 3);
    assert_true(scalar_at(value, "grads.0", 0) == 10 && scalar_at(value, "grads.1", 0) == 11);
    mdist_value_destroy(value);
}

static void every_other_value_is_its_own_leaf(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const char *const whole[] = {""};
    mdist_value_t *value = number(3), *same = NULL;
    assert_int_equal(mdist_value_leaf_count(value), 1);
    assert_string_equal(mdist_value_leaf_path(value, 0), "");
    OK(mdist_value_structure(whole, &value, 1, &same, &error));
    assert_int_equal(mdist_value_kind(same), MDIST_VALUE_PLAIN);
    assert_true(scalar_at(same, "", 0) == 3);
    FAILS(MDIST_ERR_NOT_FOUND, mdist_value_at(value, "a", &same, &error));
    mdist_value_destroy(same);
    mdist_value_destroy(value);

    // A structure may have no leaves.
    OK(mdist_value_structure(NULL, NULL, 0, &value, &error));
    expect_paths(value, NULL, 0);
    FAILS(MDIST_ERR_NOT_FOUND, mdist_value_at(value, "a", &same, &error));
    mdist_value_destroy(value);
    assert_int_equal(mdist_value_leaf_count(value), 0);
    assert_string_equal(mdist_value_leaf_path(value, 0), "");
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_value_at(value, "", &same, &error));
}

static void expect_no_structure(const char *first, const char *second, const char *words) {
    mdist_error_t *error = NULL;
    mdist_value_t *const leaves[] = {number(1), number(2)};
    mdist_value_t *untouched = leaves[0];
    const char *const paths[] = {first, second};
    assert_int_equal(mdist_value_structure(paths, leaves, 2, &untouched, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, words);
    mdist_error_free(error);
    assert_ptr_equal(untouched, leaves[0]);
    mdist_value_destroy(leaves[0]);
    mdist_value_destroy(leaves[1]);
}

static void paths_that_make_no_tree_are_named(void **state) {
    (void)state;
    expect_no_structure("a", "a", "\"a\" is given twice");
    expect_no_structure("a.b", "a", "\"a.b\" lies below \"a\", which is a leaf");
    expect_no_structure("a.0", "a.2",
                        "path \"a.2\": positions in \"a\" go up from 0 without gaps, so the next is 1, not 2");
    expect_no_structure("1", "2", "path \"1\": positions in the value go up from 0 without gaps, so the next is 0");
    expect_no_structure("a.0", "a.01", "the next is 1, not 01");
    expect_no_structure("a.0", "a.x", "\"a\" cannot have both names and positions, and \"a.0\" exists already");
    expect_no_structure("a.0.x.1", "b", "positions in \"a.0.x\" go up");
    expect_no_structure("a", "b..c", "\"b..c\" has an empty name");
    expect_no_structure("a", ".b", "\".b\" has an empty name");
    expect_no_structure("a", "b.", "\"b.\" has an empty name");
    expect_no_structure("a", "", "path \"\" is the whole value");
    expect_no_structure("a", NULL, "path 1 of 2 is NULL");
    expect_no_structure("0", "99999999999999999999999999", "the next is 1");
}

static void what_a_structure_does_not_have_is_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const char *const paths[] = {"a.0", "a.1", "b", "c", "d"};
    mdist_value_t *const leaves[] = {number(1), number(2), number(3), number(4), number(5)};
    mdist_value_t *value = structure(paths, leaves, 5), *out = NULL;
    assert_int_equal(mdist_value_at(value, "a.2", &out, &error), MDIST_ERR_NOT_FOUND);
    WORDS(error, "no \"a.2\"; it has \"a.0\", \"a.1\", \"b\", \"c\" and 1 more");
    mdist_error_free(error);
    FAILS(MDIST_ERR_NOT_FOUND, mdist_value_at(value, "b.0", &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_at(value, "a.", &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_at(value, NULL, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_at(value, "b", NULL, &error));
    mdist_tensor_t tensor;
    assert_int_equal(mdist_value_tensor(value, 0, &tensor, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "is a structure (\"a.0\"");
    mdist_error_free(error);
    assert_null(out);
    mdist_value_destroy(value);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_value_structure(paths, &value, 1, &out, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_structure(NULL, &value, 1, &out, &error));
}

static void a_variable_takes_no_structure(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *variable = NULL;
    float zero = 0;
    const mdist_tensor_t initial = tensor_of(&zero, MDIST_FLOAT32, 0);
    OK(mdist_variable_create(strategy, "v", &initial, &variable, NULL, &error));
    const char *const paths[] = {"new"};
    mdist_value_t *const leaves[] = {number(1)};
    mdist_value_t *value = structure(paths, leaves, 1), *leaf = at(value, "new");
    assert_int_equal(mdist_variable_assign(variable, MDIST_ASSIGN_SET, value, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "mdist_value_at");
    mdist_error_free(error);
    OK(mdist_variable_assign(variable, MDIST_ASSIGN_SET, leaf, &error));
    mdist_value_destroy(leaf);
    mdist_value_destroy(value);
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
}

static void a_structure_is_mirrored_leaf_by_leaf(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const char *const paths[] = {"a", "b"};
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        float x = 1;
        mdist_value_t *leaves[] = {number(2), mirrored(strategy, tensor_of(&x, MDIST_FLOAT32, 0))}, *out = NULL;
        mdist_value_t *value = structure(paths, leaves, 2);
        OK(mdist_value_mirrored(strategy, value, &out, &error));
        expect_paths(out, paths, 2);
        mdist_value_t *a = at(out, "a"), *again = NULL, *each = NULL;
        assert_int_equal(mdist_value_kind(a), MDIST_VALUE_MIRRORED);
        assert_int_equal(mdist_value_count(a), n);
        for (uint32_t local = 0; local < n; ++local) {
            assert_true(scalar_at(out, "a", local) == 2);
            assert_true(scalar_at(out, "b", local) == 1);
        }
        OK(mdist_value_mirrored(strategy, a, &again, &error));
        assert_int_equal(mdist_value_kind(again), MDIST_VALUE_MIRRORED);
        const mdist_tensor_t tensors[] = {tensor_of(&x, MDIST_FLOAT32, 0), tensor_of(&x, MDIST_FLOAT32, 0),
                                          tensor_of(&x, MDIST_FLOAT32, 0)};
        each = per_replica(strategy, tensors);
        mdist_value_t *untouched = NULL;
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_mirrored(strategy, each, &untouched, &error));
        assert_null(untouched);
        mdist_value_t *const all[] = {value, out, a, again, each};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) mdist_value_destroy(all[i]);
        mdist_strategy_destroy(strategy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_structure_is_mirrored_leaf_by_leaf),
        cmocka_unit_test(leaves_are_found_by_path_in_one_order),
        cmocka_unit_test(a_part_is_a_structure_that_outlives_the_whole),
        cmocka_unit_test(structures_nest),
        cmocka_unit_test(every_other_value_is_its_own_leaf),
        cmocka_unit_test(paths_that_make_no_tree_are_named),
        cmocka_unit_test(what_a_structure_does_not_have_is_told),
        cmocka_unit_test(a_variable_takes_no_structure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
