// SPDX-License-Identifier: Apache-2.0
// Helpers that make structures and read them in one line.
#pragma once

#include "value_support.h"

/// Makes a structure of `count` values at `paths`. Destroys the values.
MDIST_TEST_HELPER mdist_value_t *structure(const char *const *paths, mdist_value_t *const *leaves, size_t count) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    OK(mdist_value_structure(paths, leaves, count, &value, &error));
    for (size_t i = 0; i < count; ++i) mdist_value_destroy(leaves[i]);
    return value;
}

/// Makes a plain float32 scalar.
MDIST_TEST_HELPER mdist_value_t *number(float x) {
    return make_value(&x, MDIST_FLOAT32, 0);
}

/// Checks that the value has these paths, in this order.
MDIST_TEST_HELPER void expect_paths(const mdist_value_t *value, const char *const *paths, size_t count) {
    assert_int_equal(mdist_value_kind(value), MDIST_VALUE_STRUCTURE);
    assert_int_equal(mdist_value_leaf_count(value), count);
    for (size_t i = 0; i < count; ++i) assert_string_equal(mdist_value_leaf_path(value, i), paths[i]);
}

MDIST_TEST_HELPER mdist_value_t *at(const mdist_value_t *value, const char *path) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL;
    OK(mdist_value_at(value, path, &out, &error));
    return out;
}

/// Returns the float32 scalar of tensor `index` of the leaf at `path`.
MDIST_TEST_HELPER float scalar_at(const mdist_value_t *value, const char *path, size_t index) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensor;
    mdist_value_t *leaf = at(value, path);
    OK(mdist_value_tensor(leaf, index, &tensor, &error));
    assert_int_equal(tensor.dtype, MDIST_FLOAT32);
    assert_int_equal(tensor.rank, 0);
    const float x = *(const float *)tensor.data;
    mdist_value_destroy(leaf);
    return x;
}

// ---- For steps, where nothing may be asserted: these return 0 on success.

MDIST_TEST_HELPER float argument_at(mdist_replica_t *replica, size_t index, const char *path) {
    mdist_tensor_t tensor;
    if (mdist_replica_argument(replica, index, path, &tensor, NULL) != MDIST_OK) return -1e9f;
    return tensor.dtype == MDIST_FLOAT32 && tensor.rank == 0 ? *(const float *)tensor.data : -2e9f;
}

MDIST_TEST_HELPER int set_at(mdist_replica_t *replica, size_t index, const char *path, float x) {
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_replica_set_result(replica, index, path, &tensor, NULL) != MDIST_OK;
}
