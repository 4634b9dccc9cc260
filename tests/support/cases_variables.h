// SPDX-License-Identifier: Apache-2.0
// TensorFlow's worked examples of variables, in the form of cases_values.h. variable_table.h tests every combination of
// synchronization, aggregation and write.
#pragma once

#include "cases_values.h"

/// A write in a step: each replica writes `base` plus `each` times its id.
typedef struct StepWrite {
    mdist_variable_t *variable;
    mdist_assign_t assign;
    float base, each;
} StepWrite;

MDIST_TEST_HELPER int32_t write_step(mdist_replica_t *replica, void *user_data) {
    const StepWrite *const self = (const StepWrite *)user_data;
    float x = self->base + self->each * (float)mdist_replica_id(replica);
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    return mdist_replica_assign(replica, self->variable, self->assign, &tensor, NULL, NULL) != MDIST_OK;
}

MDIST_TEST_HELPER mdist_variable_t *scalar_variable(mdist_strategy_t *strategy, mdist_synchronization_t synchronization,
                                                    mdist_aggregation_t aggregation, float initial) {
    const mdist_variable_options_t options = {sizeof options, synchronization, aggregation, 0, NULL};
    const mdist_tensor_t tensor = tensor_of(&initial, MDIST_FLOAT32, 0);
    mdist_variable_t *variable = NULL;
    return mdist_variable_create(strategy, "case", &tensor, &variable, &options, NULL) == MDIST_OK ? variable : NULL;
}

MDIST_TEST_HELPER float read_outside(mdist_variable_t *variable) {
    mdist_value_t *value = NULL;
    if (mdist_variable_read(variable, &value, NULL, NULL) != MDIST_OK) return -1e9f;
    const float x = first_at(value, "", 0);
    mdist_value_destroy(value);
    return x;
}

MDIST_TEST_HELPER float copy_of_replica(const mdist_variable_t *variable, uint32_t local) {
    mdist_tensor_t tensor;
    if (mdist_variable_tensor(variable, local, &tensor, NULL) != MDIST_OK) return -1e9f;
    return *(const float *)tensor.data;
}

/// Checks that a write in a step to a mirrored variable of `initial` makes every copy `wanted`.
MDIST_TEST_HELPER int try_step_write(mdist_strategy_t *strategy, mdist_aggregation_t aggregation, float initial,
                                     StepWrite write, float wanted) {
    write.variable = scalar_variable(strategy, MDIST_SYNC_ON_WRITE, aggregation, initial);
    NEED(write.variable != NULL);
    NEED_OK(mdist_run(strategy, write_step, &write, NULL, NULL));
    NEED(read_outside(write.variable) == wanted);
    for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy); ++i)
        NEED(copy_of_replica(write.variable, i) == wanted);
    mdist_variable_destroy(write.variable);
    return 0;
}

/// MEAN with two replicas: 1 add r is 1.5, 5 sub r is 4.5. If all write the same: set 5 is 5, 1 add 5 is 6, 5 sub 1 is
/// 4. If both replicas write 2, SUM gives 4 and MEAN gives 2. If replica r writes 2 + r, ONLY_FIRST gives 2.
MDIST_TEST_HELPER int case_writes_in_a_step(mdist_strategy_t *strategy) {
    enum { SET = MDIST_ASSIGN_SET, ADD = MDIST_ASSIGN_ADD, SUB = MDIST_ASSIGN_SUB };
    const float n = count_of(strategy), mean_id = (n - 1) / 2;
    const struct {
        int aggregation, assign;
        float initial, base, each, wanted;
    } writes[] = {
        {MDIST_AGGREGATION_MEAN, ADD, 1, 0, 1, 1 + mean_id}, {MDIST_AGGREGATION_MEAN, SUB, 5, 0, 1, 5 - mean_id},
        {MDIST_AGGREGATION_MEAN, SET, 1, 5, 0, 5},           {MDIST_AGGREGATION_MEAN, ADD, 1, 5, 0, 6},
        {MDIST_AGGREGATION_MEAN, SUB, 5, 1, 0, 4},           {MDIST_AGGREGATION_SUM, SET, 1, 2, 0, 2 * n},
        {MDIST_AGGREGATION_MEAN, SET, 1, 2, 0, 2},           {MDIST_AGGREGATION_ONLY_FIRST_REPLICA, SET, 1, 2, 1, 2},
    };
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; ++i) {
        const StepWrite write = {NULL, (mdist_assign_t)writes[i].assign, writes[i].base, writes[i].each};
        const int wrong = try_step_write(strategy, (mdist_aggregation_t)writes[i].aggregation, writes[i].initial, write,
                                         writes[i].wanted);
        if (wrong != 0) return wrong + 10000 * (int)(i + 1);
    }
    return 0;
}

/// A mirrored 1 is set to 6 outside of steps. Every copy becomes 6.
MDIST_TEST_HELPER int case_writes_outside(mdist_strategy_t *strategy) {
    mdist_variable_t *variable = scalar_variable(strategy, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_NONE, 1);
    mdist_value_t *six = plain_scalar(6);
    NEED_OK(mdist_variable_assign(variable, MDIST_ASSIGN_SET, six, NULL));
    for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy); ++i) NEED(copy_of_replica(variable, i) == 6);
    mdist_value_destroy(six);
    mdist_variable_destroy(variable);
    return 0;
}

/// Variables synchronized ON_READ:
/// - SUM of 1 reads n. Set to 6, it reads 6 from copies of 6 / n. It refuses to be added to outside of steps.
/// - MEAN of 1 reads 1. With copies [0, 6 ...] it reads their mean.
/// - ONLY_FIRST of 2, with 5 (r + 1) added, has copies 7, 12 ... and reads 7.
MDIST_TEST_HELPER int case_sync_on_read(mdist_strategy_t *strategy) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const float n = count_of(strategy), first = (float)mdist_strategy_rank(strategy) * (float)locals;
    mdist_value_t *six = plain_scalar(6);
    mdist_variable_t *variable = scalar_variable(strategy, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM, 1);
    mdist_error_t *error = NULL;
    NEED(read_outside(variable) == n);
    NEED_OK(mdist_variable_assign(variable, MDIST_ASSIGN_SET, six, NULL));
    NEED(read_outside(variable) == 6 && copy_of_replica(variable, locals - 1) == 6 / n);
    NEED(mdist_variable_assign(variable, MDIST_ASSIGN_ADD, six, &error) == MDIST_ERR_FAILED_PRECONDITION);
    NEED(strcmp(mdist_error_reason(error), "sum_on_read") == 0);
    mdist_error_free(error);
    mdist_variable_destroy(variable);

    variable = scalar_variable(strategy, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_MEAN, 1);
    NEED(read_outside(variable) == 1);
    NEED_OK(mdist_variable_assign(variable, MDIST_ASSIGN_SET, six, NULL));
    NEED(read_outside(variable) == 6 && copy_of_replica(variable, locals - 1) == 6);
    StepWrite write = {variable, MDIST_ASSIGN_SET, 0, 6};
    NEED_OK(mdist_run(strategy, write_step, &write, NULL, NULL));
    NEED(read_outside(variable) == 3 * (n - 1));
    mdist_variable_destroy(variable);

    variable = scalar_variable(strategy, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_ONLY_FIRST_REPLICA, 2);
    write = (StepWrite){variable, MDIST_ASSIGN_ADD, 5, 5};
    NEED_OK(mdist_run(strategy, write_step, &write, NULL, NULL));
    for (uint32_t i = 0; i < locals; ++i) NEED(copy_of_replica(variable, i) == 2 + 5 * (first + (float)i + 1));
    NEED(read_outside(variable) == 7);
    mdist_variable_destroy(variable);
    mdist_value_destroy(six);
    return 0;
}

MDIST_TEST_HELPER int32_t create_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float random = (float)mdist_replica_id(replica) + 1;
    const mdist_tensor_t initial = tensor_of(&random, MDIST_FLOAT32, 0);
    mdist_variable_t *variable = NULL;
    NEED_OK(mdist_replica_variable_create(replica, "made in a step", &initial, &variable, NULL, NULL));
    NEED(strcmp(mdist_variable_name(variable), "made in a step") == 0);
    const float own = copy_of_replica(variable, mdist_replica_local_index(replica));
    NEED_OK(mdist_barrier(replica, NULL, NULL)); // all replicas have read it
    mdist_variable_destroy(variable);
    return own == 1 ? 0 : __LINE__;
}

/// A variable created in a step from a different value on each replica: all copies begin with replica 0's value.
MDIST_TEST_HELPER int case_creation_in_a_step(mdist_strategy_t *strategy) {
    NEED_OK(mdist_run(strategy, create_step, NULL, NULL, NULL));
    return 0;
}

MDIST_TEST_HELPER int32_t add_rows_step(mdist_replica_t *replica, void *user_data) {
    mdist_tensor_t rows;
    float sum = 0;
    NEED_OK(mdist_replica_argument(replica, 0, NULL, &rows, NULL));
    for (uint64_t i = 0; i < rows.shape[0]; ++i) sum += ((const float *)rows.data)[i];
    const mdist_tensor_t tensor = tensor_of(&sum, MDIST_FLOAT32, 0);
    NEED_OK(mdist_replica_assign(replica, (mdist_variable_t *)user_data, MDIST_ASSIGN_ADD, &tensor, NULL, NULL));
    return 0;
}

/// A SUM variable begins at 0. The sums of [5, 6, 7, 8] in batches of two are added until the data ends: 26.
MDIST_TEST_HELPER int case_sums_until_the_end(mdist_strategy_t *strategy) {
    static float rows[] = {5, 6, 7, 8};
    const mdist_tensor_t array = tensor_of(rows, MDIST_FLOAT32, 4);
    mdist_variable_t *variable = scalar_variable(strategy, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_SUM, 0);
    mdist_dataset_t *datasets[3];
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *element = NULL;
    mdist_status_t status = MDIST_OK;
    NEED_OK(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &datasets[0], NULL, NULL));
    NEED_OK(mdist_dataset_batch(datasets[0], 2, &datasets[1], NULL, NULL));
    NEED_OK(mdist_distribute_dataset(strategy, datasets[1], &datasets[2], NULL, NULL));
    NEED_OK(mdist_iterator_create(datasets[2], &iterator, NULL));
    while ((status = mdist_iterator_next_value(iterator, &element, NULL)) == MDIST_OK) {
        NEED_OK(mdist_run(strategy, add_rows_step, variable,
                          &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &element, .argument_count = 1}, NULL));
        mdist_value_destroy(element);
    }
    NEED(status == MDIST_END && read_outside(variable) == 26);
    mdist_iterator_destroy(iterator);
    for (int i = 0; i < 3; ++i) mdist_dataset_destroy(datasets[i]);
    mdist_variable_destroy(variable);
    return 0;
}

typedef struct Case {
    const char *name;
    int (*try_it)(mdist_strategy_t *strategy);
} Case;

static const Case cases[] = {
    {"replica_ids", case_replica_ids},
    {"nested_results", case_nested_results},
    {"results_as_arguments", case_results_as_arguments},
    {"merges", case_merges},
    {"scopes", case_scopes},
    {"all_reduce", case_all_reduce},
    {"dense_and_rows", case_dense_and_rows},
    {"reduce", case_reduce},
    {"plain_values", case_plain_values},
    {"uneven_means", case_uneven_means},
    {"batches_and_rows", case_batches_and_rows},
    {"gather", case_gather},
    {"gather_backwards", case_gather_backwards},
    {"writes_in_a_step", case_writes_in_a_step},
    {"writes_outside", case_writes_outside},
    {"sync_on_read", case_sync_on_read},
    {"creation_in_a_step", case_creation_in_a_step},
    {"sums_until_the_end", case_sums_until_the_end},
};

/// Tries all cases. If one fails, it says which in `said` and returns 0.
MDIST_TEST_HELPER int try_cases(mdist_strategy_t *strategy, char *said, size_t capacity) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const int line = cases[i].try_it(strategy);
        if (line == 0) continue;
        snprintf(said, capacity, "case_%s, line %d", cases[i].name, line);
        return 0;
    }
    return 1;
}
