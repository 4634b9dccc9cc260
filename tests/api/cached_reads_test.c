// SPDX-License-Identifier: Apache-2.0
// Cached reads: until the scope ends, a read gives what the first read gave.
#include "variable_support.h"

#include <string.h>

enum { MOST = 3 };

static mdist_variable_t *total_of(mdist_strategy_t *strategy, const char *name) {
    return scalar_variable(strategy, name, 1, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM);
}

static void enter(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    OK(mdist_cached_reads_enter(strategy, &error));
}

static void leave(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    OK(mdist_cached_reads_exit(strategy, &error));
}

static void a_cached_read_gives_what_the_first_gave(void **state) {
    (void)state;
    const float added[MOST] = {1, 2, 3};
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        mdist_variable_t *total = total_of(strategy, "total");
        mdist_variable_t *weight = scalar_variable(strategy, "weight", 5, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_NONE);
        const float before = (float)replicas;
        const float after = before + (float)(replicas * (replicas + 1) / 2);
        enter(strategy);
        expect_read(total, before);
        expect_read(weight, 5);
        assign_in_step(strategy, total, MDIST_ASSIGN_ADD, added);
        assign_outside(weight, MDIST_ASSIGN_SET, 6);
        expect_read(total, before);
        expect_read(weight, 5);
        leave(strategy);
        expect_read(total, after);
        expect_read(weight, 6);
        enter(strategy); // a new scope starts without cached values
        expect_read(total, after);
        leave(strategy);
        mdist_variable_destroy(total);
        mdist_variable_destroy(weight);
        mdist_strategy_destroy(strategy);
    }
}

static void each_strategy_has_its_own(void **state) {
    (void)state;
    mdist_strategy_t *cached = make_strategy(1, NULL), *other = make_strategy(1, NULL);
    mdist_variable_t *variable = total_of(other, "total");
    enter(cached);
    expect_read(variable, 1);
    assign_outside(variable, MDIST_ASSIGN_SET, 2);
    expect_read(variable, 2);
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(cached);
    mdist_strategy_destroy(other);
}

static void a_destroyed_variable_leaves_nothing_to_one_of_its_name(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    enter(strategy);
    mdist_variable_t *variable = total_of(strategy, "total");
    expect_read(variable, 2);
    mdist_variable_destroy(variable);
    variable = scalar_variable(strategy, "total", 7, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_NONE);
    expect_read(variable, 7);
    mdist_variable_destroy(variable);
    leave(strategy);
    mdist_strategy_destroy(strategy);
}

static void a_value_read_from_the_cache_is_ones_own(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_variable_t *variable = total_of(strategy, "total");
    mdist_value_t *first = NULL, *second = NULL;
    enter(strategy);
    OK(mdist_variable_read(variable, &first, NULL, &error));
    OK(mdist_variable_read(variable, &second, NULL, &error));
    mdist_value_destroy(first);
    leave(strategy);
    mdist_variable_destroy(variable);
    float two = 2;
    expect_plain(second, tensor_of(&two, MDIST_FLOAT32, 0));
    mdist_strategy_destroy(strategy);
}

static void scopes_do_not_nest(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    assert_int_equal(mdist_cached_reads_exit(strategy, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "cached_reads");
    WORDS(error, "mdist_cached_reads_enter first");
    mdist_error_free(error);
    error = NULL;
    enter(strategy);
    assert_int_equal(mdist_cached_reads_enter(strategy, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "cached_reads");
    WORDS(error, "mdist_cached_reads_exit first");
    mdist_error_free(error);
    leave(strategy);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cached_read_gives_what_the_first_gave),
        cmocka_unit_test(each_strategy_has_its_own),
        cmocka_unit_test(a_destroyed_variable_leaves_nothing_to_one_of_its_name),
        cmocka_unit_test(a_value_read_from_the_cache_is_ones_own),
        cmocka_unit_test(scopes_do_not_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
