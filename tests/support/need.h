// SPDX-License-Identifier: Apache-2.0
// NEED and NEED_OK, for test bodies that run in every layout, in the test's own process and in workers. Such functions
// return 0, or the line of the first check that failed. Nothing here asserts.
#pragma once

#include "mdist_test.h"

#define NEED(condition)                    \
    do {                                   \
        if (!(condition)) return __LINE__; \
    } while (0)
#define NEED_OK(call) NEED((call) == MDIST_OK)

/// Returns the float32 scalar, or the first element of the tensor, at a path.
MDIST_TEST_HELPER float first_at(const mdist_value_t *value, const char *path, size_t index) {
    mdist_value_t *leaf = NULL;
    mdist_tensor_t tensor;
    float x = -1e9f;
    if (mdist_value_at(value, path, &leaf, NULL) != MDIST_OK) return x;
    if (mdist_value_tensor(leaf, index, &tensor, NULL) == MDIST_OK && tensor.dtype == MDIST_FLOAT32 &&
        mdist_tensor_elements(&tensor) != 0)
        x = *(const float *)tensor.data;
    mdist_value_destroy(leaf);
    return x;
}

/// Makes a plain float32 scalar; NULL if there is no memory.
MDIST_TEST_HELPER mdist_value_t *plain_scalar(float x) {
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    mdist_value_t *value = NULL;
    return mdist_value_create(&tensor, &value, NULL) == MDIST_OK ? value : NULL;
}

/// Sets a scalar as a result in a step; 0 if that went well.
MDIST_TEST_HELPER int set_scalar(mdist_replica_t *replica, size_t index, const char *path, float x) {
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_replica_set_result(replica, index, path, &tensor, NULL) != MDIST_OK;
}
