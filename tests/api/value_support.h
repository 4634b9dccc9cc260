// SPDX-License-Identifier: Apache-2.0
// Helpers for values and tensors of any shape.
#pragma once

#include "collective_support.h"

/// Stands for a dimension that a tensor of fewer than three dimensions does not have.
#define NO UINT64_MAX
MDIST_TEST_HELPER mdist_tensor_t shaped(void *data, int32_t dtype, uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t dims[3] = {a, b, c};
    mdist_tensor_t tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.data = data;
    tensor.dtype = dtype;
    while (tensor.rank < 3 && dims[tensor.rank] != NO) {
        tensor.shape[tensor.rank] = dims[tensor.rank];
        ++tensor.rank;
    }
    return tensor;
}

MDIST_TEST_HELPER mdist_value_t *per_replica(mdist_strategy_t *strategy, const mdist_tensor_t *tensors) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    OK(mdist_value_per_replica(strategy, tensors, mdist_strategy_local_replica_count(strategy), &value, &error));
    return value;
}

MDIST_TEST_HELPER mdist_value_t *plain(mdist_tensor_t tensor) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    OK(mdist_value_create(&tensor, &value, &error));
    return value;
}

MDIST_TEST_HELPER mdist_value_t *mirrored(mdist_strategy_t *strategy, mdist_tensor_t tensor) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    OK(mdist_strategy_broadcast(strategy, &tensor, &value, &error));
    return value;
}

/// Checks that tensor `index` has this dtype, shape and content.
MDIST_TEST_HELPER void expect_tensor(const mdist_value_t *value, size_t index, mdist_tensor_t wanted) {
    mdist_error_t *error = NULL;
    mdist_tensor_t got;
    OK(mdist_value_tensor(value, index, &got, &error));
    assert_int_equal(got.dtype, wanted.dtype);
    assert_int_equal(got.rank, wanted.rank);
    if (!on_gpus()) assert_int_equal(got.device_kind, MDIST_DEVICE_CPU);
    assert_int_equal(got.device_index, 0);
    assert_memory_equal(got.shape, wanted.shape, sizeof got.shape);
    const size_t bytes = mdist_tensor_elements(&wanted) * mdist_dtype_size((mdist_dtype_t)wanted.dtype);
    if (bytes != 0) assert_memory_equal(got.data, wanted.data, bytes);
}

/// Checks the same for a plain value. Destroys the value.
MDIST_TEST_HELPER void expect_plain(mdist_value_t *value, mdist_tensor_t wanted) {
    assert_int_equal(mdist_value_kind(value), MDIST_VALUE_PLAIN);
    assert_int_equal(mdist_value_count(value), 1);
    expect_tensor(value, 0, wanted);
    mdist_value_destroy(value);
}

/// Checks the same for every tensor of a mirrored value. Destroys the value.
MDIST_TEST_HELPER void expect_mirrored(mdist_value_t *value, uint32_t count, mdist_tensor_t wanted) {
    assert_int_equal(mdist_value_kind(value), MDIST_VALUE_MIRRORED);
    assert_int_equal(mdist_value_count(value), count);
    for (uint32_t i = 0; i < count; ++i) expect_tensor(value, i, wanted);
    mdist_value_destroy(value);
}

MDIST_TEST_HELPER mdist_value_t *reduced(mdist_strategy_t *strategy, int op, const mdist_value_t *value,
                                         const int32_t *axes, size_t axis_count) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL;
    OK(mdist_strategy_reduce_axes(strategy, (mdist_reduce_op_t)op, value, axes, axis_count, &out, NULL, &error));
    return out;
}
