// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of strategy.h, step.h, context.h and membership.h. context.h explains the table.
#include "context.h"

static int32_t idle_merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                          mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

CALL(run) {
    return mdist_run(w->strategy, idle_step, NULL, NULL, error);
}
static int32_t idle_element(mdist_replica_t *replica, uint64_t element, void *user_data) {
    (void)replica, (void)element, (void)user_data;
    return 0;
}
CALL(map) {
    return mdist_map(w->strategy, 3, idle_element, NULL, NULL, error);
}

CALL(replica_argument) {
    mdist_tensor_t out;
    return mdist_replica_argument(w->replica, 0, NULL, &out, error);
}
CALL(replica_set_result) {
    const mdist_tensor_t tensor = tensor_in(w);
    return mdist_replica_set_result(w->replica, 0, NULL, &tensor, error);
}
CALL(merge_call) {
    return mdist_merge_call(w->replica, idle_merge, NULL, NULL, 0, NULL, 0, NULL, error);
}
CALL(merge_begin) {
    const mdist_status_t status = mdist_merge_begin(w->replica, NULL, 0, NULL, NULL, error);
    if (status == MDIST_OK && mdist_merge_end(w->replica, 0, NULL, NULL, 0, NULL) != MDIST_OK)
        return MDIST_ERR_INTERNAL;
    return status;
}
CALL(merge_end) {
    if (mdist_replica_local_index(w->replica) != MDIST_NONE) mdist_merge_begin(w->replica, NULL, 0, NULL, NULL, NULL);
    return mdist_merge_end(w->replica, 0, NULL, NULL, 0, error);
}
CALL(replica_exit) {
    return mdist_replica_exit(w->replica, 0, error);
}
CALL(replica_enter) {
    mdist_replica_t *replica = NULL;
    const int open = mdist_run_begin(w->strategy, NULL, NULL) == MDIST_OK;
    const mdist_status_t status = mdist_replica_enter(w->strategy, 0, &replica, error);
    mdist_replica_exit(replica, 0, NULL);
    if (open) mdist_run_end(w->strategy, NULL, 0, NULL);
    return status;
}
CALL(run_begin) {
    const mdist_status_t status = mdist_run_begin(w->strategy, NULL, error);
    if (status == MDIST_OK) mdist_run_end(w->strategy, NULL, 0, NULL);
    return status;
}
CALL(run_end) {
    if (mdist_run_begin(w->strategy, NULL, NULL) == MDIST_OK) {
        mdist_replica_t *replica = NULL;
        for (uint32_t i = 0; i < 2; ++i) {
            mdist_replica_enter(w->strategy, i, &replica, NULL);
            mdist_replica_exit(replica, 0, NULL);
        }
    }
    return mdist_run_end(w->strategy, NULL, 0, error);
}
CALL(strategy_create) {
    mdist_strategy_t *out = NULL;
    const mdist_status_t status = mdist_strategy_create(w->config, &out, error);
    mdist_strategy_destroy(out);
    return status;
}
CALL(strategy_device) {
    char text[16];
    return mdist_strategy_device(w->strategy, 0, text, sizeof text, NULL, error);
}

CALL(current_strategy) {
    (void)w;
    mdist_strategy_t *out = NULL;
    return mdist_current_strategy(&out, error);
}
CALL(current_replica) {
    (void)w;
    mdist_replica_t *out = NULL;
    return mdist_current_replica(&out, error);
}

CALL(strategy_check_health) {
    return mdist_strategy_check_health(w->strategy, error);
}
CALL(membership_check) {
    int32_t verdict = -1;
    return mdist_membership_check(w->strategy, &verdict, NULL, NULL, error);
}

CALL(step_register) {
    return mdist_step_register(w->strategy, "idle", idle_step, NULL, error);
}
CALL(run_named) {
    return mdist_run_named(w->strategy, "idle", NULL, error);
}
CALL(replica_set_merge_argument) {
    const mdist_tensor_t tensor = tensor_in(w);
    return mdist_replica_set_merge_argument(w->replica, 0, "a", &tensor, error);
}
static int32_t merge_a_number(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                              mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)result_count, (void)user_data;
    float x = 1;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_value_create(&tensor, &results[0], NULL) != MDIST_OK;
}
CALL(replica_merge_result) {
    mdist_tensor_t tensor;
    mdist_merge_call(w->replica, merge_a_number, NULL, NULL, 0, &tensor, 1, NULL, NULL);
    return mdist_replica_merge_result(w->replica, 0, "", &tensor, error);
}

static const Entry entries[] = {
    ENTRY(run, OUTSIDE),
    ENTRY(map, OUTSIDE),
    ENTRY(replica_argument, IN_STEP),
    ENTRY(replica_set_result, IN_STEP),
    ENTRY(merge_call, IN_STEP),
    ENTRY(merge_begin, ENTERED),
    ENTRY(merge_end, ENTERED),
    ENTRY(replica_exit, ENTERED),
    ENTRY(run_begin, BRACKET),
    ENTRY(run_end, BRACKET),
    ENTRY(replica_enter, BRACKET),
    ENTRY(strategy_create, ANYWHERE),
    ENTRY(strategy_check_health, ANYWHERE),
    ENTRY(membership_check, OUTSIDE),
    ENTRY(current_strategy, ANYWHERE),
    ENTRY(current_replica, ANYWHERE),
    ENTRY(strategy_device, ANYWHERE),
    ENTRY(step_register, ANYWHERE),
    ENTRY(run_named, OUTSIDE),
    ENTRY(replica_set_merge_argument, IN_STEP),
    ENTRY(replica_merge_result, IN_STEP),
};
const Table strategy_table = {entries, sizeof entries / sizeof *entries};
