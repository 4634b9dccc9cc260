// SPDX-License-Identifier: Apache-2.0
// A merge that reduces a structure and a tensor, for every layout. Sets what each replica gives, and checks what it
// gets back. Nothing here asserts.
#pragma once

#include "mdist_test.h"

/// The merge function. Each replica gives {"grads": [id, 2 id]} and id. It gets back the sums of the first, the mean of
/// the second, and no third result.
MDIST_TEST_HELPER int32_t reduce_structure(mdist_strategy_t *strategy, mdist_value_t *const *arguments,
                                           size_t argument_count, mdist_value_t **results, size_t result_count,
                                           void *user_data) {
    (void)user_data;
    if (argument_count != 2 || result_count != 3) return 21;
    if (mdist_value_kind(arguments[0]) != MDIST_VALUE_STRUCTURE || mdist_value_leaf_count(arguments[0]) != 2) return 22;
    if (strcmp(mdist_value_leaf_path(arguments[0], 1), "grads.1") != 0) return 23;
    if (mdist_strategy_reduce_to(strategy, MDIST_SUM, &arguments[0], NULL, 1, &results[0], NULL, NULL) != MDIST_OK)
        return 24;
    return mdist_strategy_reduce_to(strategy, MDIST_MEAN, &arguments[1], NULL, 1, &results[1], NULL, NULL) != MDIST_OK
               ? 25
               : 0;
}

MDIST_TEST_HELPER int gives_at(mdist_replica_t *replica, const char *path, float wanted) {
    mdist_tensor_t tensor;
    if (mdist_replica_merge_result(replica, 0, path, &tensor, NULL) != MDIST_OK) return 0;
    return tensor.dtype == MDIST_FLOAT32 && tensor.rank == 0 && *(const float *)tensor.data == wanted;
}

MDIST_TEST_HELPER int set_gradients(mdist_replica_t *replica) {
    float id = (float)mdist_replica_id(replica), twice = 2 * id, wrong = -1;
    const mdist_tensor_t first = tensor_of(&id, MDIST_FLOAT32, 0), second = tensor_of(&twice, MDIST_FLOAT32, 0),
                         not_that = tensor_of(&wrong, MDIST_FLOAT32, 0);
    return mdist_replica_set_merge_argument(replica, 0, "grads.1", &second, NULL) == MDIST_OK &&
           mdist_replica_set_merge_argument(replica, 0, "grads.0", &not_that, NULL) == MDIST_OK &&
           mdist_replica_set_merge_argument(replica, 0, "grads.0", &first, NULL) == MDIST_OK;
}

/// Checks what a replica got; 0 if it is right.
MDIST_TEST_HELPER int32_t check_merged(mdist_replica_t *replica, const mdist_tensor_t *results) {
    const float n = (float)mdist_replica_count(replica), ids = n * (n - 1) / 2;
    mdist_tensor_t tensor;
    if (results[0].data != NULL || results[0].dtype != 0) return 31;
    if (results[1].data == NULL || *(const float *)results[1].data != ids / n) return 32;
    if (results[2].data != NULL || results[2].dtype != 0) return 33;
    if (!gives_at(replica, "grads.0", ids) || !gives_at(replica, "grads.1", 2 * ids)) return 34;
    if (mdist_replica_merge_result(replica, 0, "grads.2", &tensor, NULL) != MDIST_ERR_NOT_FOUND) return 35;
    if (mdist_replica_merge_result(replica, 0, "grads", &tensor, NULL) != MDIST_ERR_INVALID_ARGUMENT) return 36;
    if (mdist_replica_merge_result(replica, 1, "", &tensor, NULL) != MDIST_OK) return 37;
    if (mdist_replica_merge_result(replica, 2, "", &tensor, NULL) != MDIST_ERR_NOT_FOUND) return 38;
    return mdist_replica_merge_result(replica, 3, "", &tensor, NULL) == MDIST_ERR_INVALID_ARGUMENT ? 0 : 39;
}

/// Merges twice, to check that what was set for one merge is gone in the next. `user_data` is not used.
MDIST_TEST_HELPER int32_t merge_structures(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    for (int i = 0; i < 2; ++i) {
        float id = (float)mdist_replica_id(replica);
        mdist_tensor_t arguments[2] = {tensor_of(NULL, 0, 0), tensor_of(&id, MDIST_FLOAT32, 0)}, results[3];
        if (!set_gradients(replica)) return 11;
        if (mdist_merge_call(replica, reduce_structure, NULL, arguments, 2, results, 3, NULL, NULL) != MDIST_OK)
            return 12;
        const int32_t wrong = check_merged(replica, results);
        if (wrong != 0) return wrong;
    }
    return 0;
}

/// The same between mdist_merge_begin and mdist_merge_end; `user_data` is the strategy.
MDIST_TEST_HELPER int32_t merge_structures_open(mdist_replica_t *replica, void *user_data) {
    float id = (float)mdist_replica_id(replica);
    mdist_tensor_t arguments[2] = {tensor_of(NULL, 0, 0), tensor_of(&id, MDIST_FLOAT32, 0)}, results[3];
    mdist_value_t *values[2], *made[3] = {NULL, NULL, NULL};
    if (!set_gradients(replica)) return 41;
    if (mdist_merge_begin(replica, arguments, 2, values, NULL, NULL) != MDIST_OK) return 42;
    int32_t code = 0;
    if (mdist_replica_local_index(replica) == 0)
        code = reduce_structure((mdist_strategy_t *)user_data, values, 2, made, 3, NULL);
    const mdist_status_t status = mdist_merge_end(replica, code, made, results, 3, NULL);
    for (int i = 0; i < 3; ++i) mdist_value_destroy(made[i]);
    for (int i = 0; i < 2; ++i) mdist_value_destroy(values[i]);
    return status != MDIST_OK ? 43 : check_merged(replica, results);
}
