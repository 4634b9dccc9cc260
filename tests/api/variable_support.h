// SPDX-License-Identifier: Apache-2.0
// Helpers for scalar float variables on two replicas, as in most worked examples.
#pragma once

#include "value_support.h"

MDIST_TEST_HELPER mdist_variable_t *scalar_variable(mdist_strategy_t *strategy, const char *name, float initial,
                                                    int synchronization, int aggregation) {
    mdist_error_t *error = NULL;
    mdist_variable_t *variable = NULL;
    const mdist_tensor_t tensor = tensor_of(&initial, MDIST_FLOAT32, 0);
    mdist_variable_options_t options = {sizeof options, synchronization, aggregation, 0, NULL};
    OK(mdist_variable_create(strategy, name, &tensor, &variable, &options, &error));
    return variable;
}

MDIST_TEST_HELPER float copy_of(const mdist_variable_t *variable, uint32_t replica) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensor;
    OK(mdist_variable_tensor(variable, replica, &tensor, &error));
    float number;
    memcpy(&number, tensor.data, sizeof number);
    return number;
}

MDIST_TEST_HELPER void expect_copies(const mdist_variable_t *variable, float first, float second) {
    const float a = copy_of(variable, 0), b = copy_of(variable, 1);
    if (a != first || b != second)
        fail_msg("the copies are %g and %g, not %g and %g", (double)a, (double)b, (double)first, (double)second);
}

MDIST_TEST_HELPER void expect_read(mdist_variable_t *variable, float wanted) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    OK(mdist_variable_read(variable, &value, NULL, &error));
    expect_plain(value, tensor_of(&wanted, MDIST_FLOAT32, 0));
}

MDIST_TEST_HELPER void assign_outside(mdist_variable_t *variable, int assign, float number) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = make_value(&number, MDIST_FLOAT32, 0);
    OK(mdist_variable_assign(variable, (mdist_assign_t)assign, value, &error));
    mdist_value_destroy(value);
}

MDIST_TEST_HELPER void assign_each_outside(mdist_strategy_t *strategy, mdist_variable_t *variable, int assign,
                                           float first, float second) {
    mdist_error_t *error = NULL;
    const mdist_tensor_t tensors[2] = {tensor_of(&first, MDIST_FLOAT32, 0), tensor_of(&second, MDIST_FLOAT32, 0)};
    mdist_value_t *value = per_replica(strategy, tensors);
    OK(mdist_variable_assign(variable, (mdist_assign_t)assign, value, &error));
    mdist_value_destroy(value);
}

typedef struct Writing {
    mdist_variable_t *variable;
    int assign;
    const float *written;
} Writing;

MDIST_TEST_HELPER int32_t writing_step(mdist_replica_t *replica, void *user_data) {
    const Writing *const w = (const Writing *)user_data;
    float number = w->written[mdist_replica_id(replica)];
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 0);
    return mdist_replica_assign(replica, w->variable, (mdist_assign_t)w->assign, &tensor, NULL, NULL);
}

MDIST_TEST_HELPER void assign_in_step(mdist_strategy_t *strategy, mdist_variable_t *variable, int assign,
                                      const float *written) {
    mdist_error_t *error = NULL;
    Writing writing = {variable, assign, written};
    OK(mdist_run(strategy, writing_step, &writing, NULL, &error));
}
