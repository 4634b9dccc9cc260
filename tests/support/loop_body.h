// SPDX-License-Identifier: Apache-2.0
// Runs loops over a distributed dataset in every layout, and checks their outputs. Nothing here asserts: functions
// return 0, or the line of the first check that failed.
#pragma once

#include "need.h"

enum { LOOP_ROWS = 24, LOOP_BATCH = 6, LOOP_ELEMENTS = LOOP_ROWS / LOOP_BATCH };

typedef struct LoopBody {
    mdist_loop_t *loop;
    uint64_t calls, fail_at; // fail_at: the call that returns 5; none if UINT64_MAX
    int wrong;               // the line of a check that failed
} LoopBody;

/// Makes an iterator of rows i and -i, in components "x" and "y.neg", batched and distributed.
MDIST_TEST_HELPER int make_loop_data(mdist_strategy_t *strategy, mdist_iterator_t **iterator) {
    static float x[LOOP_ROWS], y[LOOP_ROWS];
    for (int i = 0; i < LOOP_ROWS; ++i) x[i] = (float)i, y[i] = (float)-i;
    const mdist_tensor_t arrays[] = {tensor_of(x, MDIST_FLOAT32, LOOP_ROWS), tensor_of(y, MDIST_FLOAT32, LOOP_ROWS)};
    const char *const paths[] = {"x", "y.neg"};
    mdist_dataset_t *rows = NULL, *named = NULL, *batched = NULL, *distributed = NULL;
    NEED_OK(mdist_dataset_from_tensors(arrays, 2, NULL, NULL, &rows, NULL, NULL));
    NEED_OK(mdist_dataset_with_paths(rows, paths, 2, &named, NULL, NULL));
    NEED_OK(mdist_dataset_batch(named, LOOP_BATCH, &batched, NULL, NULL));
    NEED_OK(mdist_distribute_dataset(strategy, batched, &distributed, NULL, NULL));
    NEED_OK(mdist_iterator_create(distributed, iterator, NULL));
    mdist_dataset_t *const all[] = {rows, named, batched, distributed};
    for (int i = 0; i < 4; ++i) mdist_dataset_destroy(all[i]);
    return 0;
}

/// Sums its rows. The sum is a result, and the output "sum". The outputs "id.mean" and "id.first" tell replica and
/// iteration.
MDIST_TEST_HELPER int32_t loop_step(mdist_replica_t *replica, void *user_data) {
    mdist_loop_t *const loop = ((LoopBody *)user_data)->loop;
    const int32_t id = mdist_replica_id(replica);
    mdist_tensor_t x, y;
    float sum = 0, both = 0, number = (float)mdist_loop_iterations(loop), mean = number + (float)id, first[8];
    NEED_OK(mdist_replica_argument(replica, 0, "x", &x, NULL));
    NEED_OK(mdist_replica_argument(replica, 0, "y.neg", &y, NULL));
    for (uint64_t i = 0; i < x.shape[0]; ++i) sum += ((const float *)x.data)[i];
    for (uint64_t i = 0; i < x.shape[0]; ++i) both += ((const float *)x.data)[i] + ((const float *)y.data)[i];
    for (int i = 0; i < 8; ++i) first[i] = mean;
    NEED(both == 0);
    const mdist_tensor_t tensors[] = {tensor_of(&sum, MDIST_FLOAT32, 0), tensor_of(&mean, MDIST_FLOAT32, 0),
                                      tensor_of(first, MDIST_FLOAT32, (uint64_t)id + 1)};
    NEED_OK(mdist_replica_set_result(replica, 0, NULL, &tensors[0], NULL));
    NEED_OK(mdist_replica_set_output(replica, loop, "sum", &tensors[1], MDIST_AGGREGATION_SUM, NULL));
    NEED_OK(
        mdist_replica_set_output(replica, loop, "sum", &tensors[0], MDIST_AGGREGATION_SUM, NULL)); // this one counts
    NEED_OK(mdist_replica_set_output(replica, loop, "id.mean", &tensors[1], MDIST_AGGREGATION_MEAN, NULL));
    const uint32_t local = mdist_replica_local_index(replica);
    NEED_OK(mdist_loop_set_object(loop, "mine", local, (char *)user_data + local, NULL));
    NEED(mdist_replica_set_output(replica, loop, "none", &tensors[0], MDIST_AGGREGATION_NONE, NULL) ==
         MDIST_ERR_INVALID_ARGUMENT);
    NEED_OK(
        mdist_replica_set_output(replica, loop, "id.first", &tensors[2], MDIST_AGGREGATION_ONLY_FIRST_REPLICA, NULL));
    return 0;
}

MDIST_TEST_HELPER int loop_body(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                LoopBody *self) {
    mdist_value_t *sums = NULL, *outputs = NULL, *number = NULL;
    self->loop = loop;
    NEED(mdist_value_kind(element) == MDIST_VALUE_STRUCTURE && mdist_value_leaf_count(element) == 2);
    NEED(mdist_loop_iterations(loop) == self->calls);
    NEED(mdist_loop_outputs(loop, &outputs, NULL) == MDIST_ERR_FAILED_PRECONDITION && outputs == NULL);
    float calls = (float)self->calls;
    const mdist_tensor_t tensor = tensor_of(&calls, MDIST_FLOAT32, 0);
    NEED_OK(mdist_value_create(&tensor, &number, NULL));
    NEED_OK(mdist_run(strategy, loop_step, self,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &element, .argument_count = 1,
                                        .results = &sums, .result_count = 1},
                      NULL));
    NEED_OK(mdist_loop_set_output(loop, "kept", sums, MDIST_AGGREGATION_NONE, NULL));
    NEED_OK(mdist_loop_set_output(loop, "number", number, MDIST_AGGREGATION_MEAN, NULL));
    mdist_value_destroy(sums);
    mdist_value_destroy(number);
    ++self->calls;
    return 0;
}

MDIST_TEST_HELPER int32_t call_loop_body(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                         void *user_data) {
    LoopBody *const self = (LoopBody *)user_data;
    if (self->calls == self->fail_at) return 5;
    self->wrong = loop_body(strategy, loop, element, self);
    return self->wrong;
}

/// Checks the outputs after `count` elements. The last one is number `last` of the iteration.
MDIST_TEST_HELPER int check_loop_outputs(mdist_strategy_t *strategy, const mdist_loop_t *loop, uint64_t count,
                                         uint64_t last) {
    const float n = (float)mdist_strategy_replica_count(strategy);
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    mdist_value_t *outputs = NULL, *kept = NULL;
    float sum = 0, own = 0;
    void *object = NULL;
    for (uint64_t i = last * LOOP_BATCH; i < (last + 1) * LOOP_BATCH; ++i) sum += (float)i;
    NEED(mdist_loop_iterations(loop) == count);
    NEED_OK(mdist_loop_outputs(loop, &outputs, NULL));
    NEED(mdist_value_leaf_count(outputs) == 5);
    NEED(first_at(outputs, "sum", 0) == sum);
    NEED(first_at(outputs, "id.mean", 0) == (n - 1) / 2 + (float)(count - 1));
    NEED(first_at(outputs, "id.first", 0) == (float)(count - 1));
    NEED(first_at(outputs, "number", 0) == (float)(count - 1));
    NEED_OK(mdist_value_at(outputs, "kept", &kept, NULL));
    NEED(mdist_value_count(kept) == locals);
    for (uint32_t i = 0; i < locals; ++i) own += first_at(outputs, "kept", i);
    NEED(mdist_strategy_worker_count(strategy) > 1 || own == sum);
    for (uint32_t i = 0; i < locals; ++i) NEED(mdist_loop_object(loop, "mine", i, &object, NULL) == MDIST_OK && object);
    NEED(mdist_loop_object(loop, "mine", locals, &object, NULL) == MDIST_ERR_NOT_FOUND);
    NEED(mdist_loop_set_output((mdist_loop_t *)loop, "late", kept, MDIST_AGGREGATION_NONE, NULL) ==
         MDIST_ERR_FAILED_PRECONDITION);
    mdist_value_destroy(kept);
    mdist_value_destroy(outputs);
    return 0;
}

/// Loops over three elements. Asks for five more and gets the one that is left, then asks again and gets none.
MDIST_TEST_HELPER int check_loops(mdist_strategy_t *strategy) {
    const mdist_call_options_t *const none = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_loop_t *loop = NULL;
    mdist_value_t *outputs = NULL;
    LoopBody body = {NULL, 0, UINT64_MAX, 0};
    int wrong = make_loop_data(strategy, &iterator);
    if (wrong != 0) return wrong;
    const mdist_status_t three = mdist_run_steps(strategy, iterator, 3, call_loop_body, &body, NULL, &loop, none, NULL);
    if (body.wrong != 0) return body.wrong;
    NEED(three == MDIST_OK && body.calls == 3);
    if ((wrong = check_loop_outputs(strategy, loop, 3, 2)) != 0) return wrong;
    mdist_loop_destroy(loop);

    body.calls = 0;
    NEED(mdist_run_steps(strategy, iterator, 5, call_loop_body, &body, NULL, &loop, none, NULL) == MDIST_END);
    NEED(body.calls == 1);
    if ((wrong = check_loop_outputs(strategy, loop, 1, 3)) != 0) return wrong;
    mdist_loop_destroy(loop);

    NEED(mdist_run_steps(strategy, iterator, MDIST_FOREVER, call_loop_body, &body, NULL, &loop, none, NULL) ==
         MDIST_END);
    NEED(body.calls == 1 && mdist_loop_iterations(loop) == 0);
    NEED_OK(mdist_loop_outputs(loop, &outputs, NULL));
    NEED(mdist_value_leaf_count(outputs) == 0);
    mdist_value_destroy(outputs);
    mdist_loop_destroy(loop);
    mdist_iterator_destroy(iterator);
    return 0;
}
