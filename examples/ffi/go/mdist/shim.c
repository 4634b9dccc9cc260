// SPDX-License-Identifier: Apache-2.0
#include "shim.h"

#include "_cgo_export.h"

mdist_status_t mdistgo_collect(mdistgo_collective kind, mdist_replica_t *replica, uint32_t number,
                               const mdist_buffer_t *inputs, const mdist_buffer_t *outputs, size_t count,
                               mdist_work_t **work, mdist_error_t **error) {
    const mdist_reduce_op_t op = (mdist_reduce_op_t)number;
    switch (kind) {
        case MDISTGO_ALL_REDUCE:
            return work ? mdist_all_reduce_start(replica, op, inputs, outputs, count, work, NULL, error)
                        : mdist_all_reduce(replica, op, inputs, outputs, count, NULL, error);
        case MDISTGO_BROADCAST:
            return work ? mdist_broadcast_start(replica, number, outputs, count, work, NULL, error)
                        : mdist_broadcast(replica, number, outputs, count, NULL, error);
        case MDISTGO_ALL_GATHER:
            return work ? mdist_all_gather_start(replica, inputs, outputs, count, work, NULL, error)
                        : mdist_all_gather(replica, inputs, outputs, count, NULL, error);
        case MDISTGO_REDUCE_SCATTER:
            return work ? mdist_reduce_scatter_start(replica, op, inputs, outputs, count, work, NULL, error)
                        : mdist_reduce_scatter(replica, op, inputs, outputs, count, NULL, error);
        case MDISTGO_ALL_TO_ALL:
            break;
    }
    return work ? mdist_all_to_all_start(replica, inputs, outputs, count, work, NULL, error)
                : mdist_all_to_all(replica, inputs, outputs, count, NULL, error);
}

mdist_status_t mdistgo_collect_direct(mdistgo_collective kind, mdist_replica_t *replica, uint32_t number,
                                      mdistgo_buffers inputs, mdistgo_buffers outputs, size_t count,
                                      mdist_error_t **error) {
    return mdistgo_collect(kind, replica, number, inputs.at, outputs.at, count, NULL, error);
}

mdist_status_t mdistgo_collect_in_place(mdistgo_collective kind, mdist_replica_t *replica, uint32_t number,
                                        mdistgo_buffers buffers, size_t count, mdist_error_t **error) {
    return mdistgo_collect(kind, replica, number, buffers.at, buffers.at, count, NULL, error);
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    return mdistgoStep(replica, (uintptr_t)user_data);
}

mdist_status_t mdistgo_run(mdist_strategy_t *strategy, uintptr_t run, mdist_value_t *const *arguments, size_t count,
                           mdist_value_t **results, size_t result_count, mdist_error_t **error) {
    return mdist_run(strategy, step, (void *)run, arguments, count, results, result_count, NULL, error);
}

static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy;
    return mdistgoMerge((mdist_value_t **)arguments, argument_count, results, result_count, (uintptr_t)user_data);
}

mdist_status_t mdistgo_merge_call(mdist_replica_t *replica, uintptr_t state, const mdist_tensor_t *arguments,
                                  size_t count, mdist_tensor_t *results, size_t result_count, mdist_error_t **error) {
    return mdist_merge_call(replica, merge, (void *)state, arguments, count, results, result_count, NULL, error);
}

static int32_t update(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                      size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)results, (void)result_count;
    return mdistgoUpdate(local_replica, (mdist_tensor_t *)copy, (mdist_tensor_t *)arguments, argument_count,
                         (uintptr_t)user_data);
}

mdist_status_t mdistgo_update(mdist_variable_t *variable, uintptr_t state, mdist_value_t *const *arguments,
                              size_t count, mdist_error_t **error) {
    return mdist_update(variable, update, (void *)state, arguments, count, NULL, 0, error);
}

static int32_t map(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs, size_t output_count,
                   void *user_data) {
    return mdistgoMap((mdist_tensor_t *)inputs, input_count, (mdist_tensor_t *)outputs, output_count,
                      (uintptr_t)user_data);
}

static void release(void *user_data) {
    mdistgoRelease((uintptr_t)user_data);
}

mdist_status_t mdistgo_dataset_map(const mdist_dataset_t *source, uintptr_t state, const mdist_tensor_t *outputs,
                                   size_t count, mdist_dataset_t **out, mdist_error_t **error) {
    return mdist_dataset_map(source, map, (void *)state, release, outputs, count, out, error);
}

mdist_status_t mdistgo_dataset_from_tensors(const mdist_tensor_t *arrays, size_t count, void *memory,
                                            mdist_dataset_t **out, mdist_error_t **error) {
    return mdist_dataset_from_tensors(arrays, count, memory, mdist_free, out, error);
}

mdist_status_t mdistgo_set_result(mdist_replica_t *replica, size_t index, mdist_tensor_t tensor,
                                  mdist_error_t **error) {
    return mdist_replica_set_result(replica, index, &tensor, error);
}

mdist_status_t mdistgo_value_create(mdist_tensor_t tensor, mdist_value_t **out, mdist_error_t **error) {
    return mdist_value_create(&tensor, out, error);
}

mdist_status_t mdistgo_broadcast_to(mdist_strategy_t *strategy, mdist_tensor_t tensor, mdist_value_t **out,
                                    mdist_error_t **error) {
    return mdist_broadcast_to(strategy, &tensor, out, error);
}

mdist_status_t mdistgo_replica_assign(mdist_replica_t *replica, mdist_variable_t *variable, mdist_assign_t assign,
                                      mdist_tensor_t tensor, mdist_error_t **error) {
    return mdist_replica_assign(replica, variable, assign, &tensor, NULL, error);
}

mdist_status_t mdistgo_variable_create(mdist_strategy_t *strategy, mdist_replica_t *replica, const char *name,
                                       mdist_tensor_t initial, int32_t synchronization, int32_t aggregation,
                                       mdist_variable_t **out, mdist_error_t **error) {
    const mdist_variable_options_t options = {sizeof options, synchronization, aggregation, 0};
    return replica ? mdist_replica_variable_create(replica, name, &initial, out, &options, error)
                   : mdist_variable_create(strategy, name, &initial, out, &options, error);
}
