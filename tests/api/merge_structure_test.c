// SPDX-License-Identifier: Apache-2.0
// Merges of structures: in both kinds of steps, with and without a function, and with replicas that disagree.
#include "merge_structure.h"
#include "step_support.h"
#include "structure_support.h"

static void structures_go_into_merges_and_come_out(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        OK(mdist_run(strategy, merge_structures, NULL, NULL, &error));
        OK(run_own(strategy, merge_structures, NULL, NULL, &error));
        OK(run_own(strategy, merge_structures_open, strategy, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
}

// ---- Per-replica and plain leaves: each replica gets its own tensor, or all get the same.

static int32_t give_leaves(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                           mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)argument_count, (void)result_count, (void)user_data;
    const char *const paths[] = {"own", "all"};
    float seven = 7;
    const mdist_tensor_t tensor = tensor_of(&seven, MDIST_FLOAT32, 0);
    mdist_value_t *plain_seven = NULL;
    if (mdist_value_create(&tensor, &plain_seven, NULL) != MDIST_OK) return 1;
    mdist_value_t *const leaves[] = {arguments[0], plain_seven};
    const mdist_status_t status = mdist_value_structure(paths, leaves, 2, &results[0], NULL);
    mdist_value_destroy(plain_seven);
    return status != MDIST_OK;
}

static int32_t take_leaves(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const float id = (float)mdist_replica_id(replica);
    float x = id;
    mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0), merged;
    if (mdist_merge_call(replica, give_leaves, NULL, &tensor, 1, &merged, 1, NULL, NULL) != MDIST_OK) return 1;
    return gives_at(replica, "own", id) && gives_at(replica, "all", 7) ? 0 : 2;
}

static void each_replica_gets_its_own_leaves(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        OK(mdist_run(strategy, take_leaves, NULL, NULL, &error));
        mdist_strategy_destroy(strategy);
    }
}

// ---- Replicas that disagree.

static int32_t accept(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                      mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

static int32_t merge_one(mdist_replica_t *replica, const char *path, int32_t dtype, size_t argument_count) {
    float x = 1;
    const mdist_tensor_t tensor = tensor_of(&x, dtype, 0);
    if (mdist_replica_set_merge_argument(replica, 0, path, &tensor, NULL) != MDIST_OK) return 1;
    return mdist_merge_call(replica, accept, NULL, NULL, argument_count, NULL, 0, NULL, NULL) != MDIST_OK ? 2 : 0;
}

static int32_t other_paths(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return merge_one(replica, mdist_replica_id(replica) == 0 ? "a" : "b", MDIST_FLOAT32, 1);
}
static int32_t other_types(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return merge_one(replica, "a", mdist_replica_id(replica) == 0 ? MDIST_FLOAT32 : MDIST_INT32, 1);
}
static int32_t structure_or_tensor(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return merge_one(replica, mdist_replica_id(replica) == 0 ? "a" : "", MDIST_FLOAT32, 1);
}
static int32_t no_tree(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return merge_one(replica, "a.1", MDIST_FLOAT32, 1);
}
static int32_t beyond(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return merge_one(replica, "a", MDIST_FLOAT32, 0);
}

static void expect_failure(mdist_strategy_t *strategy, mdist_step_fn step, mdist_status_t wanted, const char *words) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run(strategy, step, NULL, NULL, &error);
    WORDS(error, words);
    assert_int_equal(status, wanted);
    mdist_error_free(error);
    OK(mdist_run(strategy, merge_structures, NULL, NULL, &error)); // works afterwards
}

static void replicas_that_give_different_structures_fail(void **state) {
    (void)state;
    quiet_log();
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    expect_failure(strategy, other_paths, MDIST_ERR_MISMATCH, "\"a\" on replica 0 and not on replica 1");
    expect_failure(strategy, other_types, MDIST_ERR_MISMATCH, "\"a\" of argument 0 of the merge is float32");
    expect_failure(strategy, structure_or_tensor, MDIST_ERR_MISMATCH, "1 arguments: structure; 0 results");
    expect_failure(strategy, no_tree, MDIST_ERR_INVALID_ARGUMENT, "positions in \"a\"");
    expect_failure(strategy, beyond, MDIST_ERR_INVALID_ARGUMENT, "this merge has 0 arguments");
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_go_into_merges_and_come_out),
        cmocka_unit_test(each_replica_gets_its_own_leaves),
        cmocka_unit_test(replicas_that_give_different_structures_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
