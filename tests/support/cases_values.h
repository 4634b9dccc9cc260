// SPDX-License-Identifier: Apache-2.0
// TensorFlow's worked examples of runs, merges, reductions and gathers, for any number of replicas and workers. Each
// function tries one example. It returns 0, or the line of the first check that failed.
// docs/maintainers/cases.md lists them.
#pragma once

#include "need.h"

MDIST_TEST_HELPER float count_of(const mdist_strategy_t *strategy) {
    return (float)mdist_strategy_replica_count(strategy);
}

/// 0 + 1 + ... + n - 1.
MDIST_TEST_HELPER float sum_of_ids(const mdist_strategy_t *strategy) {
    return count_of(strategy) * (count_of(strategy) - 1) / 2;
}

// ---- Runs and merges.

MDIST_TEST_HELPER int32_t ids_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float id = (float)mdist_replica_id(replica);
    const mdist_tensor_t tensor = tensor_of(&id, MDIST_FLOAT32, 1);
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) != MDIST_OK;
}

/// Local results are the local ids. Gathered over all workers they are 0 to n - 1. Their sum is n (n - 1) / 2.
MDIST_TEST_HELPER int case_replica_ids(mdist_strategy_t *strategy) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const uint32_t first = mdist_strategy_rank(strategy) * locals;
    mdist_value_t *ids = NULL, *all = NULL, *sum = NULL;
    mdist_tensor_t tensor;
    NEED_OK(mdist_run(strategy, ids_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &ids, .result_count = 1}, NULL));
    for (uint32_t i = 0; i < locals; ++i) NEED(first_at(ids, "", i) == (float)(first + i));
    NEED_OK(mdist_strategy_gather(strategy, ids, 0, &all, NULL, NULL));
    NEED_OK(mdist_value_tensor(all, 0, &tensor, NULL));
    NEED(tensor.shape[0] == mdist_strategy_replica_count(strategy));
    for (uint64_t i = 0; i < tensor.shape[0]; ++i) NEED(((const float *)tensor.data)[i] == (float)i);
    NEED_OK(mdist_strategy_reduce(strategy, MDIST_SUM, ids, &sum, NULL, NULL));
    NEED(first_at(sum, "", 0) == sum_of_ids(strategy));
    mdist_value_destroy(ids);
    mdist_value_destroy(all);
    mdist_value_destroy(sum);
    return 0;
}

MDIST_TEST_HELPER int32_t nests_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return set_scalar(replica, 0, "a", 1) || set_scalar(replica, 0, "b", 2) || set_scalar(replica, 1, "0", 2) ||
           set_scalar(replica, 1, "1", 3) || set_scalar(replica, 2, "0.x", 1) || set_scalar(replica, 2, "1.0", 2);
}

/// {a: 1, b: 2}, [2, 3] and [{x: 1}, [2]] come back as they are, from each replica.
MDIST_TEST_HELPER int case_nested_results(mdist_strategy_t *strategy) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    mdist_value_t *results[3];
    NEED_OK(mdist_run(strategy, nests_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = results, .result_count = 3}, NULL));
    for (int i = 0; i < 3; ++i) NEED(mdist_value_leaf_count(results[i]) == 2);
    for (uint32_t i = 0; i < locals; ++i) {
        NEED(first_at(results[0], "a", i) == 1 && first_at(results[0], "b", i) == 2);
        NEED(first_at(results[1], "0", i) == 2 && first_at(results[1], "1", i) == 3);
        NEED(first_at(results[2], "0.x", i) == 1 && first_at(results[2], "1.0", i) == 2);
    }
    for (int i = 0; i < 3; ++i) mdist_value_destroy(results[i]);
    return 0;
}

MDIST_TEST_HELPER float argument_at_path(mdist_replica_t *replica, const char *path) {
    mdist_tensor_t tensor;
    if (mdist_replica_argument(replica, 0, path, &tensor, NULL) != MDIST_OK) return -1e9f;
    return *(const float *)tensor.data;
}
MDIST_TEST_HELPER int32_t add_one_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return set_scalar(replica, 0, "", (float)mdist_replica_id(replica) + 1);
}
MDIST_TEST_HELPER int32_t double_and_square_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const float x = argument_at_path(replica, "");
    return set_scalar(replica, 0, "a", 2 * x) || set_scalar(replica, 0, "b", x * x);
}
MDIST_TEST_HELPER int32_t combine_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return set_scalar(replica, 0, "", argument_at_path(replica, "a") + 2 * argument_at_path(replica, "b") + 2);
}

/// r + 1, then {a: 2x, b: x^2} of it, then a + 2b + 2: [6, 14] with two replicas.
MDIST_TEST_HELPER int case_results_as_arguments(mdist_strategy_t *strategy) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const uint32_t first = mdist_strategy_rank(strategy) * locals;
    mdist_value_t *one = NULL, *two = NULL, *three = NULL;
    NEED_OK(mdist_run(strategy, add_one_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &one, .result_count = 1}, NULL));
    NEED_OK(mdist_run(strategy, double_and_square_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &one, .argument_count = 1, .results = &two,
                                        .result_count = 1},
                      NULL));
    NEED_OK(mdist_run(strategy, combine_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &two, .argument_count = 1,
                                        .results = &three, .result_count = 1},
                      NULL));
    for (uint32_t i = 0; i < locals; ++i) {
        const float x = (float)(first + i + 1);
        NEED(first_at(one, "", i) == x && first_at(two, "a", i) == 2 * x && first_at(two, "b", i) == x * x);
        NEED(first_at(three, "", i) == 2 * x + 2 * x * x + 2);
    }
    mdist_value_destroy(one);
    mdist_value_destroy(two);
    mdist_value_destroy(three);
    return 0;
}

MDIST_TEST_HELPER int32_t sum_up(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                                 mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count, (void)user_data;
    return mdist_strategy_reduce(strategy, MDIST_SUM, arguments[0], &results[0], NULL, NULL) != MDIST_OK;
}
MDIST_TEST_HELPER int32_t merge_sum_step(mdist_replica_t *replica, void *user_data) {
    float x = *(const float *)user_data + (float)mdist_replica_id(replica);
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    mdist_tensor_t merged;
    if (mdist_merge_call(replica, sum_up, NULL, &tensor, 1, &merged, 1, NULL, NULL) != MDIST_OK) return 1;
    return set_scalar(replica, 0, "", x + *(const float *)merged.data);
}
MDIST_TEST_HELPER int32_t run_again(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                                    mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)result_count;
    return mdist_run(strategy, merge_sum_step, user_data,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &results[0], .result_count = 1},
                     NULL) != MDIST_OK;
}
MDIST_TEST_HELPER int32_t merge_and_run_step(mdist_replica_t *replica, void *user_data) {
    mdist_tensor_t merged;
    if (mdist_merge_call(replica, run_again, user_data, NULL, 0, &merged, 1, NULL, NULL) != MDIST_OK) return 1;
    return set_scalar(replica, 0, "", *(const float *)merged.data);
}

/// v = 3 + id, merged by SUM, s + v: [10, 11] with two replicas; and the same in a run inside of a merge.
MDIST_TEST_HELPER int case_merges(mdist_strategy_t *strategy) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const uint32_t first = mdist_strategy_rank(strategy) * locals;
    const mdist_step_fn steps[] = {merge_sum_step, merge_and_run_step};
    float three = 3;
    for (int s = 0; s < 2; ++s) {
        mdist_value_t *value = NULL;
        NEED_OK(mdist_run(strategy, steps[s], &three,
                          &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &value, .result_count = 1}, NULL));
        for (uint32_t i = 0; i < locals; ++i)
            NEED(first_at(value, "", i) == 3 * count_of(strategy) + sum_of_ids(strategy) + 3 + (float)(first + i));
        mdist_value_destroy(value);
    }
    return 0;
}

/// A scope is entered twice and left twice. A reduction inside it gives the same as outside.
MDIST_TEST_HELPER int case_scopes(mdist_strategy_t *strategy) {
    mdist_value_t *ids = NULL, *sum = NULL;
    mdist_strategy_t *current = NULL;
    NEED_OK(mdist_run(strategy, ids_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &ids, .result_count = 1}, NULL));
    for (int i = 0; i < 2; ++i) NEED_OK(mdist_scope_enter(strategy, NULL));
    for (int i = 0; i < 2; ++i) {
        NEED_OK(mdist_current_strategy(&current, NULL));
        NEED(current == strategy);
        NEED_OK(mdist_strategy_reduce(strategy, MDIST_SUM, ids, &sum, NULL, NULL));
        NEED(first_at(sum, "", 0) == sum_of_ids(strategy));
        mdist_value_destroy(sum);
        NEED_OK(mdist_scope_exit(strategy, NULL));
    }
    NEED(mdist_scope_exit(strategy, NULL) == MDIST_ERR_FAILED_PRECONDITION);
    mdist_value_destroy(ids);
    return 0;
}

// ---- Reductions.

MDIST_TEST_HELPER int32_t all_reduce_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const float n = (float)mdist_replica_count(replica), odd = (float)(mdist_replica_count(replica) / 2),
                even = n - odd;
    const int is_odd = mdist_replica_id(replica) % 2;
    float scalar = is_odd ? 3.0f : 1.0f, pair[2] = {is_odd ? 3.0f : 39.0f, is_odd ? 41.0f : 2.0f}, sums[2], means[3],
          one = 1;
    const mdist_buffer_t in[] = {buffer_of(&scalar, MDIST_FLOAT32, 1), buffer_of(pair, MDIST_FLOAT32, 2)};
    const mdist_buffer_t sum = buffer_of(sums, MDIST_FLOAT32, 2), ones = buffer_of(&one, MDIST_FLOAT32, 1);
    const mdist_buffer_t mean[] = {buffer_of(means, MDIST_FLOAT32, 1), buffer_of(&means[1], MDIST_FLOAT32, 2)};
    NEED_OK(mdist_all_reduce(replica, MDIST_SUM, &in[1], &sum, 1, NULL, NULL));
    NEED(sums[0] == 39 * even + 3 * odd && sums[1] == 2 * even + 41 * odd);
    NEED_OK(mdist_all_reduce(replica, MDIST_MEAN, in, mean, 2, NULL, NULL));
    NEED(means[0] == (even + 3 * odd) / n && means[1] == sums[0] / n && means[2] == sums[1] / n);
    NEED_OK(mdist_all_reduce(replica, MDIST_SUM, &ones, &ones, 1, NULL, NULL));
    NEED(one == n);
    return 0;
}

/// 1 and 3 in turn; [39, 2] and [3, 41] in turn: with two replicas SUM [42, 43], MEAN 2 and [21, 21.5]. 1.0 sums to n.
MDIST_TEST_HELPER int case_all_reduce(mdist_strategy_t *strategy) {
    NEED_OK(mdist_run(strategy, all_reduce_step, NULL, NULL, NULL));
    return 0;
}

MDIST_TEST_HELPER int32_t dense_and_rows_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const float n = (float)mdist_replica_count(replica);
    for (int i = 1; i <= 2; ++i) {
        float dense = (float)i, row = 1;
        int64_t index = 0;
        const mdist_buffer_t buffer = buffer_of(&dense, MDIST_FLOAT32, 1);
        const mdist_tensor_t indices = tensor_of(&index, MDIST_INT64, 1), values = tensor_of(&row, MDIST_FLOAT32, 1);
        mdist_value_t *rows = NULL;
        mdist_tensor_t got;
        NEED_OK(mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL));
        NEED(dense == (float)i * n);
        NEED_OK(mdist_all_reduce_sparse(replica, MDIST_SUM, &indices, &values, &rows, NULL, NULL));
        NEED_OK(mdist_value_tensor(rows, 0, &got, NULL));
        NEED((float)got.shape[0] == n); // n rows of index 0, each 1: as a dense tensor, n
        mdist_value_destroy(rows);
    }
    return 0;
}

/// (1, rows, 2, rows) reduce to (n, n rows, 2n, n rows).
MDIST_TEST_HELPER int case_dense_and_rows(mdist_strategy_t *strategy) {
    NEED_OK(mdist_run(strategy, dense_and_rows_step, NULL, NULL, NULL));
    return 0;
}

MDIST_TEST_HELPER int32_t tuple_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float both[2] = {1, 2};
    const mdist_tensor_t tensor = tensor_of(both, MDIST_FLOAT32, 2);
    if (mdist_replica_set_result(replica, 1, NULL, &tensor, NULL) != MDIST_OK) return 1;
    return set_scalar(replica, 0, "0", 3 + 1) || set_scalar(replica, 0, "1", 3 - 1);
}

/// (x + 1, x - 1) of 3 sums to (4n, 2n); [1, 2] over axis 0: MEAN 1.5, SUM 3n.
MDIST_TEST_HELPER int case_reduce(mdist_strategy_t *strategy) {
    const int32_t axis = 0;
    mdist_value_t *results[2], *out = NULL;
    NEED_OK(mdist_run(strategy, tuple_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = results, .result_count = 2}, NULL));
    NEED_OK(mdist_strategy_reduce(strategy, MDIST_SUM, results[0], &out, NULL, NULL));
    NEED(first_at(out, "0", 0) == 4 * count_of(strategy) && first_at(out, "1", 0) == 2 * count_of(strategy));
    mdist_value_destroy(out);
    NEED_OK(mdist_strategy_reduce_axes(strategy, MDIST_MEAN, results[1], &axis, 1, &out, NULL, NULL));
    NEED(first_at(out, "", 0) == 1.5f);
    mdist_value_destroy(out);
    NEED_OK(mdist_strategy_reduce_axes(strategy, MDIST_SUM, results[1], &axis, 1, &out, NULL, NULL));
    NEED(first_at(out, "", 0) == 3 * count_of(strategy));
    mdist_value_destroy(out);
    for (int i = 0; i < 2; ++i) mdist_value_destroy(results[i]);
    return 0;
}

/// MEAN of a plain 5 is 5. SUM of it is refused in every layout, as is that of a plain 0.
MDIST_TEST_HELPER int case_plain_values(mdist_strategy_t *strategy) {
    mdist_value_t *five = plain_scalar(5), *zero = plain_scalar(0), *out = NULL;
    NEED_OK(mdist_strategy_reduce(strategy, MDIST_MEAN, five, &out, NULL, NULL));
    NEED(first_at(out, "", 0) == 5);
    mdist_value_destroy(out);
    out = NULL;
    NEED(mdist_strategy_reduce(strategy, MDIST_SUM, zero, &out, NULL, NULL) == MDIST_ERR_INVALID_ARGUMENT);
    NEED(mdist_strategy_reduce(strategy, MDIST_SUM, five, &out, NULL, NULL) == MDIST_ERR_INVALID_ARGUMENT);
    mdist_value_t *const values[] = {five, zero, out};
    for (int i = 0; i < 3; ++i) mdist_value_destroy(values[i]);
    return 0;
}

MDIST_TEST_HELPER int32_t mean_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_tensor_t rows;
    float sum = 0;
    NEED_OK(mdist_replica_argument(replica, 0, NULL, &rows, NULL));
    for (uint64_t i = 0; i < rows.shape[0]; ++i) sum += ((const float *)rows.data)[i];
    return set_scalar(replica, 0, "", rows.shape[0] == 0 ? 0 : sum / (float)rows.shape[0]);
}

/// [5, 6, 7] in a batch of 4. With two replicas the means are [5.5, 7], and their mean is 6.25. Over axis 0 the mean is
/// 6 in every layout.
MDIST_TEST_HELPER int case_uneven_means(mdist_strategy_t *strategy) {
    static float rows[] = {5, 6, 7};
    static const float means[] = {6, 6.25f, 6, 4.5f}; // by number of replicas; the fourth replica has no rows, mean 0
    const mdist_tensor_t array = tensor_of(rows, MDIST_FLOAT32, 3);
    const int32_t axis = 0;
    mdist_dataset_t *datasets[3];
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *element = NULL, *own = NULL, *mean = NULL, *of_all = NULL;
    NEED_OK(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &datasets[0], NULL, NULL));
    NEED_OK(mdist_dataset_batch(datasets[0], 4, &datasets[1], NULL, NULL));
    NEED_OK(mdist_distribute_dataset(strategy, datasets[1], &datasets[2], NULL, NULL));
    NEED_OK(mdist_iterator_create(datasets[2], &iterator, NULL));
    NEED_OK(mdist_iterator_next_value(iterator, &element, NULL));
    NEED_OK(mdist_run(strategy, mean_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &element, .argument_count = 1,
                                        .results = &own, .result_count = 1},
                      NULL));
    NEED_OK(mdist_strategy_reduce(strategy, MDIST_MEAN, own, &mean, NULL, NULL));
    NEED(first_at(mean, "", 0) == means[mdist_strategy_replica_count(strategy) - 1]);
    NEED_OK(mdist_strategy_reduce_axes(strategy, MDIST_MEAN, element, &axis, 1, &of_all, NULL, NULL));
    NEED(first_at(of_all, "", 0) == 6);
    mdist_value_t *const values[] = {element, own, mean, of_all};
    for (int i = 0; i < 4; ++i) mdist_value_destroy(values[i]);
    mdist_iterator_destroy(iterator);
    for (int i = 0; i < 3; ++i) mdist_dataset_destroy(datasets[i]);
    return 0;
}

MDIST_TEST_HELPER int32_t pair_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const float id = (float)mdist_replica_id(replica);
    float pair[2] = {2 * id + 1, 2 * id + 2}, row[2] = {id + 1, id + 1};
    const mdist_tensor_t tensor = tensor_of(pair, MDIST_FLOAT32, 2), rows = tensor_of(row, MDIST_FLOAT32, 2);
    int64_t numbers[2] = {mdist_replica_id(replica), mdist_replica_id(replica) + 1};
    const mdist_tensor_t indices = tensor_of(numbers, MDIST_INT64, 2);
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) != MDIST_OK ||
           mdist_replica_set_result(replica, 1, NULL, &indices, NULL) != MDIST_OK ||
           mdist_replica_set_result(replica, 2, NULL, &rows, NULL) != MDIST_OK;
}

/// Pairs [1, 2], [3, 4] ... in one batch sum to [n^2, n^2 + n]. With four replicas that is [16, 20], and MEAN is
/// [4, 5]. Rows of indices [0, 1], [1, 2] ... are joined; MEAN divides them by n.
MDIST_TEST_HELPER int case_batches_and_rows(mdist_strategy_t *strategy) {
    const float n = count_of(strategy);
    const mdist_reduce_op_t ops[] = {MDIST_SUM, MDIST_MEAN};
    mdist_value_t *results[3], *rows = NULL, *out[2];
    mdist_tensor_t values, indices;
    NEED_OK(mdist_run(strategy, pair_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = results, .result_count = 3}, NULL));
    NEED_OK(mdist_value_sparse(results[1], results[2], &rows, NULL));
    for (int i = 0; i < 2; ++i) {
        const float by = i == 0 ? 1 : n;
        mdist_value_t *const pairs[] = {results[0], results[0]};
        const char *const targets[] = {NULL, device_name(0)};
        NEED_OK(mdist_strategy_reduce_to(strategy, ops[i], pairs, targets, 2, out, NULL, NULL));
        for (int j = 0; j < 2; ++j) {
            NEED_OK(mdist_value_tensor(out[j], 0, &values, NULL));
            NEED(((const float *)values.data)[0] == n * n / by && ((const float *)values.data)[1] == (n * n + n) / by);
            mdist_value_destroy(out[j]);
        }
        NEED_OK(mdist_strategy_reduce(strategy, ops[i], rows, &out[0], NULL, NULL));
        NEED_OK(mdist_value_tensor(out[0], 0, &values, NULL));
        NEED_OK(mdist_value_indices(out[0], 0, &indices, NULL));
        NEED((float)indices.shape[0] == 2 * n);
        for (uint64_t r = 0; r < indices.shape[0]; ++r) {
            NEED(((const int64_t *)indices.data)[r] == (int64_t)(r / 2 + r % 2));
            NEED(((const float *)values.data)[r] == (float)(r / 2 + 1) / by);
        }
        mdist_value_destroy(out[0]);
    }
    mdist_value_destroy(rows);
    for (int i = 0; i < 3; ++i) mdist_value_destroy(results[i]);
    return 0;
}

MDIST_TEST_HELPER int32_t row_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float three[3] = {1, 2, 3};
    mdist_tensor_t tensor = tensor_of(three, MDIST_FLOAT32, 3);
    if (mdist_replica_set_result(replica, 0, NULL, &tensor, NULL) != MDIST_OK) return 1;
    tensor.rank = 2;
    tensor.shape[0] = 1;
    tensor.shape[1] = 3;
    return mdist_replica_set_result(replica, 1, NULL, &tensor, NULL) != MDIST_OK;
}

/// [1, 2, 3] and [[1, 2, 3]] are joined n times along any axis.
MDIST_TEST_HELPER int case_gather(mdist_strategy_t *strategy) {
    const uint64_t n = mdist_strategy_replica_count(strategy);
    mdist_value_t *results[2], *out = NULL;
    mdist_tensor_t tensor;
    NEED_OK(mdist_run(strategy, row_step, NULL,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = results, .result_count = 2}, NULL));
    for (int i = 0; i < 3; ++i) {
        NEED_OK(mdist_strategy_gather(strategy, results[i == 0 ? 0 : 1], i == 2 ? 1 : 0, &out, NULL, NULL));
        NEED_OK(mdist_value_tensor(out, 0, &tensor, NULL));
        NEED(tensor.shape[0] == (i == 0   ? 3 * n
                                 : i == 1 ? n
                                          : 1) &&
             (i == 0 || tensor.shape[1] == (i == 1 ? 3 : 3 * n)));
        for (uint64_t x = 0; x < 3 * n; ++x) NEED(((const float *)tensor.data)[x] == (float)(x % 3 + 1));
        mdist_value_destroy(out);
    }
    for (int i = 0; i < 2; ++i) mdist_value_destroy(results[i]);
    return 0;
}

MDIST_TEST_HELPER int32_t gather_back_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint64_t n = mdist_replica_count(replica);
    float upstream[2 * 8], own[2];
    for (uint64_t i = 0; i < 2 * n; ++i) upstream[i] = (float)mdist_replica_id(replica) + 1;
    const mdist_buffer_t in = buffer_of(upstream, MDIST_FLOAT32, 2 * n), out = buffer_of(own, MDIST_FLOAT32, 2);
    NEED_OK(mdist_reduce_scatter(replica, MDIST_SUM, &in, &out, 1, NULL, NULL));
    NEED(own[0] == (float)(n * (n + 1) / 2) && own[1] == own[0]);
    return 0;
}

/// The gradient of an all_gather whose result each replica multiplies by r + 1: the sum of these factors, [3, 3] with
/// two replicas.
MDIST_TEST_HELPER int case_gather_backwards(mdist_strategy_t *strategy) {
    NEED_OK(mdist_run(strategy, gather_back_step, NULL, NULL, NULL));
    return 0;
}
