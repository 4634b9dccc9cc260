// SPDX-License-Identifier: Apache-2.0
#include "shim.h"

#include "_cgo_export.h"

static mdist_collective_description_t described(mdistgo_description what, const mdist_buffer_t *inputs,
                                                const mdist_buffer_t *outputs, size_t count) {
    const mdist_collective_description_t made = {
        .struct_size = sizeof made,
        .kind = what.kind,
        .op = what.op,
        .root = what.root,
        .inputs = inputs,
        .outputs = what.kind == MDIST_COLLECTIVE_BROADCAST ? NULL : outputs,
        .buffer_count = count,
        .input_parts = what.input_parts,
        .output_parts = what.output_parts,
    };
    return made;
}

static mdist_status_t start(mdistgo_operation what, mdist_replica_t *replica, const mdist_buffer_t *inputs,
                            const mdist_buffer_t *outputs, size_t count, mdist_work_t **work,
                            const mdist_call_options_t *options, mdist_error_t **error) {
    if (what.kind == MDISTGO_SEND) return mdist_send_start(replica, what.root, what.tag, inputs, work, options, error);
    if (what.kind == MDISTGO_RECEIVE)
        return mdist_receive_start(replica, what.root, what.tag, outputs, work, options, error);
    const mdistgo_description told = {.kind = (int32_t)what.kind,
                                      .op = (int32_t)what.op,
                                      .root = what.root,
                                      .input_parts = what.input_parts,
                                      .output_parts = what.output_parts};
    const mdist_buffer_t *const from = what.kind == MDISTGO_BROADCAST ? outputs : inputs;
    const mdist_collective_description_t collective = described(told, from, outputs, count);
    return mdist_collective_start(replica, &collective, work, options, error);
}

mdist_status_t mdistgo_collect(mdistgo_operation what, mdist_replica_t *replica, const mdist_buffer_t *inputs,
                               const mdist_buffer_t *outputs, size_t count, mdist_work_t **work,
                               mdist_error_t **error) {
    const mdist_reduce_op_t op = (mdist_reduce_op_t)what.op;
    const mdist_call_options_t given = {
        .struct_size = sizeof given, .timeout_ns = what.timeout_ns, .group = what.group};
    const mdist_call_options_t *const options = what.group || what.timeout_ns ? &given : NULL;
    if (work) return start(what, replica, inputs, outputs, count, work, options, error);
    switch (what.kind) {
        case MDISTGO_ALL_REDUCE:
            return mdist_all_reduce(replica, op, inputs, outputs, count, options, error);
        case MDISTGO_BROADCAST:
            return mdist_broadcast(replica, what.root, outputs, count, options, error);
        case MDISTGO_ALL_GATHER:
            return mdist_all_gather(replica, inputs, outputs, count, options, error);
        case MDISTGO_REDUCE_SCATTER:
            return mdist_reduce_scatter(replica, op, inputs, outputs, count, options, error);
        case MDISTGO_REDUCE_TO_ROOT:
            return mdist_reduce_to_root(replica, op, what.root, inputs, outputs, count, options, error);
        case MDISTGO_GATHER_TO_ROOT:
            return mdist_gather_to_root(replica, what.root, inputs, outputs, count, options, error);
        case MDISTGO_SCATTER:
            return mdist_scatter(replica, what.root, inputs, outputs, count, options, error);
        case MDISTGO_ALL_TO_ALL_PARTS:
            return mdist_all_to_all_parts(replica, inputs, what.input_parts, outputs, what.output_parts, count, options,
                                          error);
        case MDISTGO_BARRIER:
            return mdist_barrier(replica, options, error);
        case MDISTGO_SEND:
            return mdist_send(replica, what.root, what.tag, inputs, options, error);
        case MDISTGO_RECEIVE:
            return mdist_receive(replica, what.root, what.tag, outputs, options, error);
        case MDISTGO_ALL_TO_ALL:
            break;
    }
    return mdist_all_to_all(replica, inputs, outputs, count, options, error);
}

mdist_status_t mdistgo_collect_direct(mdistgo_operation what, mdist_replica_t *replica, mdistgo_buffers inputs,
                                      mdistgo_buffers outputs, size_t count, mdist_error_t **error) {
    return mdistgo_collect(what, replica, inputs.at, outputs.at, count, NULL, error);
}

mdist_status_t mdistgo_collect_in_place(mdistgo_operation what, mdist_replica_t *replica, mdistgo_buffers buffers,
                                        size_t count, mdist_error_t **error) {
    return mdistgo_collect(what, replica, buffers.at, buffers.at, count, NULL, error);
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    return mdistgoStep(replica, (uintptr_t)user_data);
}

static mdist_run_io_t io_of(mdist_value_t *const *arguments, size_t count, mdist_value_t **results, size_t result_count,
                            uint64_t timeout_ns) {
    const mdist_run_io_t made = {.struct_size = sizeof made,
                                 .arguments = arguments,
                                 .argument_count = count,
                                 .results = results,
                                 .result_count = result_count,
                                 .timeout_ns = timeout_ns};
    return made;
}

mdist_status_t mdistgo_run(mdist_strategy_t *strategy, uintptr_t run, mdist_value_t *const *arguments, size_t count,
                           mdist_value_t **results, size_t result_count, uint64_t timeout_ns, mdist_error_t **error) {
    const mdist_run_io_t io = io_of(arguments, count, results, result_count, timeout_ns);
    return mdist_run(strategy, step, (void *)run, &io, error);
}

mdist_status_t mdistgo_run_begin(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t count,
                                 size_t result_count, uint64_t timeout_ns, mdist_error_t **error) {
    const mdist_run_io_t io = io_of(arguments, count, NULL, result_count, timeout_ns);
    return mdist_run_begin(strategy, &io, error);
}

mdist_status_t mdistgo_run_named(mdist_strategy_t *strategy, const char *name, mdist_value_t *const *arguments,
                                 size_t count, mdist_value_t **results, size_t result_count, uint64_t timeout_ns,
                                 mdist_error_t **error) {
    const mdist_run_io_t io = io_of(arguments, count, results, result_count, timeout_ns);
    return mdist_run_named(strategy, name, &io, error);
}

mdist_status_t mdistgo_update_named(mdist_strategy_t *strategy, mdist_variable_t *variable, const char *name,
                                    mdist_value_t *const *arguments, size_t count, mdist_value_t **results,
                                    size_t result_count, mdist_error_t **error) {
    const mdist_run_io_t io = io_of(arguments, count, results, result_count, 0);
    return mdist_update_named(strategy, variable, name, &io, error);
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
    return mdistgoUpdate(local_replica, (mdist_tensor_t *)copy, (mdist_tensor_t *)arguments, argument_count, results,
                         result_count, (uintptr_t)user_data);
}

mdist_status_t mdistgo_update(mdist_strategy_t *strategy, mdist_variable_t *variable, uintptr_t state,
                              mdist_value_t *const *arguments, size_t count, mdist_value_t **results,
                              size_t result_count, mdist_error_t **error) {
    const mdist_run_io_t io = io_of(arguments, count, results, result_count, 0);
    return variable ? mdist_update(variable, update, (void *)state, &io, error)
                    : mdist_update_devices(strategy, update, (void *)state, &io, error);
}

static int32_t element(mdist_replica_t *replica, uint64_t number, void *user_data) {
    return mdistgoElement(replica, number, (uintptr_t)user_data);
}

mdist_status_t mdistgo_map(mdist_strategy_t *strategy, uint64_t count, uintptr_t state, mdist_value_t *const *arguments,
                           size_t argument_count, mdist_value_t **results, size_t result_count, uint64_t timeout_ns,
                           mdist_error_t **error) {
    const mdist_run_io_t io = io_of(arguments, argument_count, results, result_count, timeout_ns);
    return mdist_map(strategy, count, element, (void *)state, &io, error);
}

static int32_t value(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    return mdistgoValue(replica_id, replica_count, out, (uintptr_t)user_data);
}

mdist_status_t mdistgo_values_from_function(mdist_strategy_t *strategy, uintptr_t state, mdist_value_t **out,
                                            mdist_error_t **error) {
    return mdist_values_from_function(strategy, value, (void *)state, out, error);
}

static int32_t fetch(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    return mdistgoFetch((mdist_tensor_t *)source, result, (uintptr_t)user_data);
}

mdist_status_t mdistgo_fetch(mdist_strategy_t *strategy, const mdist_value_t *from, const char *destination,
                             uintptr_t state, mdist_value_t **out, mdist_error_t **error) {
    return mdist_strategy_fetch(strategy, from, destination, state ? fetch : NULL, (void *)state, out, error);
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
    return mdist_dataset_map(source, map, (void *)state, release, outputs, count, out, NULL, error);
}

mdist_status_t mdistgo_dataset_from_tensors(const mdist_tensor_t *arrays, size_t count, void *memory,
                                            mdist_dataset_t **out, mdist_error_t **error) {
    return mdist_dataset_from_tensors(arrays, count, memory, mdist_free, out, NULL, error);
}

mdist_status_t mdistgo_set_result(mdist_replica_t *replica, size_t index, const char *path, mdist_tensor_t tensor,
                                  mdist_error_t **error) {
    return mdist_replica_set_result(replica, index, path, &tensor, error);
}

mdist_status_t mdistgo_value_create(mdist_tensor_t tensor, mdist_value_t **out, mdist_error_t **error) {
    return mdist_value_create(&tensor, out, error);
}

mdist_status_t mdistgo_broadcast_to(mdist_strategy_t *strategy, mdist_tensor_t tensor, mdist_value_t **out,
                                    mdist_error_t **error) {
    return mdist_strategy_broadcast(strategy, &tensor, out, error);
}

mdist_status_t mdistgo_replica_assign(mdist_replica_t *replica, mdist_variable_t *variable, mdist_assign_t assign,
                                      mdist_tensor_t tensor, mdist_error_t **error) {
    return mdist_replica_assign(replica, variable, assign, &tensor, NULL, error);
}

mdist_status_t mdistgo_variable_create(mdist_strategy_t *strategy, mdist_replica_t *replica, const char *name,
                                       mdist_tensor_t initial, int32_t synchronization, int32_t aggregation,
                                       const mdist_variable_t *colocate_with, mdist_variable_t **out,
                                       mdist_error_t **error) {
    const mdist_variable_options_t options = {sizeof options, synchronization, aggregation, 0, colocate_with};
    return replica ? mdist_replica_variable_create(replica, name, &initial, out, &options, error)
                   : mdist_variable_create(strategy, name, &initial, out, &options, error);
}

mdist_status_t mdistgo_all_reduce_sparse(mdist_replica_t *replica, mdist_reduce_op_t op, mdist_tensor_t indices,
                                         mdist_tensor_t values, mdist_value_t **out, mdist_error_t **error) {
    return mdist_all_reduce_sparse(replica, op, &indices, &values, out, NULL, error);
}

mdist_status_t mdistgo_replica_assign_sparse(mdist_replica_t *replica, mdist_variable_t *variable,
                                             mdist_assign_t assign, mdist_tensor_t indices, mdist_tensor_t values,
                                             mdist_error_t **error) {
    return mdist_replica_assign_sparse(replica, variable, assign, &indices, &values, NULL, error);
}

mdist_status_t mdistgo_average_loss(mdist_replica_t *replica, mdist_tensor_t per_example, mdist_tensor_t weights,
                                    uint64_t *global_batch, double *loss, mdist_error_t **error) {
    return mdist_average_loss(replica, &per_example, weights.dtype ? &weights : NULL, global_batch, loss, NULL, error);
}

mdist_status_t mdistgo_scale_regularization(mdist_replica_t *replica, mdist_tensor_t terms, double *loss,
                                            mdist_error_t **error) {
    return mdist_scale_regularization(replica, &terms, loss, error);
}

mdist_status_t mdistgo_copy(mdist_replica_t *replica, mdist_tensor_t to, mdist_tensor_t from, mdist_error_t **error) {
    return replica ? mdist_replica_copy(replica, &to, &from, error) : mdist_tensor_copy(&to, &from, error);
}

mdist_status_t mdistgo_checkpoint_restore(mdist_checkpoint_t *checkpoint, uint64_t number, int32_t partial,
                                          uint64_t *restored, mdist_error_t **error) {
    const mdist_restore_options_t options = {sizeof options, partial ? MDIST_RESTORE_PARTIAL : 0, 0};
    return mdist_checkpoint_restore(checkpoint, number, restored, &options, error);
}

mdist_status_t mdistgo_gradients_create(mdist_strategy_t *strategy, const mdist_tensor_t *like, size_t count,
                                        int32_t lent, uint32_t flags, int32_t op, uint64_t bucket_bytes,
                                        double clip_norm, mdist_gradients_t **out, mdist_error_t **error) {
    const mdist_gradients_options_t options = {sizeof options, flags, op, 0, bucket_bytes, clip_norm};
    if (lent) return mdist_gradients_create_lent(strategy, like, count, out, &options, error);
    return mdist_gradients_create(strategy, like, count, out, &options, error);
}

mdist_status_t mdistgo_exit(mdist_replica_t *replica, int32_t code, const char *why, mdist_error_t **error) {
    mdist_fail(0, why == NULL ? "" : why);
    return mdist_replica_exit(replica, code, error);
}

mdist_status_t mdistgo_merge_end(mdist_replica_t *replica, int32_t code, const char *why, mdist_value_t *const *values,
                                 mdist_tensor_t *results, size_t count, mdist_error_t **error) {
    mdist_fail(0, why == NULL ? "" : why);
    return mdist_merge_end(replica, code, values, results, count, error);
}

static mdist_input_options_t input_options(mdistgo_input_options given) {
    return (mdist_input_options_t){
        sizeof(mdist_input_options_t), given.flags,       given.policy,  given.uneven,      given.replication_mode,
        given.fetch_to_device,         given.buffer_size, given.weights, given.weight_count};
}

mdist_status_t mdistgo_distribute_dataset(mdist_strategy_t *strategy, const mdist_dataset_t *source,
                                          mdistgo_input_options given, mdist_dataset_t **out, mdist_error_t **error) {
    const mdist_input_options_t options = input_options(given);
    return mdist_distribute_dataset(strategy, source, out, &options, error);
}

static int32_t dataset(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    return mdistgoDataset(context->pipeline_count, context->pipeline, context->replica_count, out,
                          (uintptr_t)user_data);
}

mdist_status_t mdistgo_distribute_from_function(mdist_strategy_t *strategy, uintptr_t state,
                                                mdistgo_input_options given, mdist_dataset_t **out,
                                                mdist_error_t **error) {
    const mdist_input_options_t options = input_options(given);
    return mdist_distribute_from_function(strategy, dataset, (void *)state, out, &options, error);
}

mdist_status_t mdistgo_input_context_batch_size(uint32_t pipeline_count, uint32_t pipeline, uint32_t replica_count,
                                                uint64_t global_batch_size, uint64_t *out, mdist_error_t **error) {
    const mdist_input_context_t context = {sizeof context, pipeline_count, pipeline, replica_count};
    return mdist_input_context_batch_size(&context, global_batch_size, out, error);
}

static mdist_read_options_t read_options(mdistgo_read_options given) {
    return (mdist_read_options_t){sizeof(mdist_read_options_t),
                                  0,
                                  given.compression,
                                  given.on_corrupt,
                                  given.cycle_length,
                                  given.block_length,
                                  given.max_record_bytes,
                                  given.parallel_files};
}

mdist_status_t mdistgo_dataset_text_lines(const mdist_dataset_t *files, mdistgo_read_options given,
                                          mdist_dataset_t **out, mdist_error_t **error) {
    const mdist_read_options_t options = read_options(given);
    return mdist_dataset_text_lines(files, out, &options, error);
}

mdist_status_t mdistgo_dataset_tfrecords(const mdist_dataset_t *files, mdistgo_read_options given,
                                         mdist_dataset_t **out, mdist_error_t **error) {
    const mdist_read_options_t options = read_options(given);
    return mdist_dataset_tfrecords(files, out, &options, error);
}

mdist_status_t mdistgo_dataset_fixed_records(const mdist_dataset_t *files, uint64_t record_bytes, uint64_t header_bytes,
                                             uint64_t footer_bytes, mdistgo_read_options given, mdist_dataset_t **out,
                                             mdist_error_t **error) {
    const mdist_read_options_t options = read_options(given);
    return mdist_dataset_fixed_records(files, record_bytes, header_bytes, footer_bytes, out, &options, error);
}

static int32_t filter(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data) {
    return mdistgoFilter((mdist_tensor_t *)inputs, input_count, keep, (uintptr_t)user_data);
}

mdist_status_t mdistgo_dataset_filter(const mdist_dataset_t *source, uintptr_t state, mdist_dataset_t **out,
                                      mdist_error_t **error) {
    return mdist_dataset_filter(source, filter, (void *)state, release, out, NULL, error);
}

static int32_t generate(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **iteration,
                        void *user_data) {
    uintptr_t state = (uintptr_t)*iteration;
    const int32_t code = mdistgoGenerate(index, (mdist_tensor_t *)outputs, output_count, &state, (uintptr_t)user_data);
    *iteration = (void *)state;
    return code;
}

mdist_status_t mdistgo_dataset_from_generator(uintptr_t generator, const mdist_tensor_t *outputs, size_t count,
                                              mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                              mdist_error_t **error) {
    return mdist_dataset_from_generator(generate, (void *)generator, release, release, outputs, count, out, options,
                                        error);
}

static void done(mdist_status_t status, void *user_data) {
    mdistgoDone(status, (uintptr_t)user_data);
}

mdist_status_t mdistgo_work_on_done(mdist_work_t *work, uintptr_t function, mdist_error_t **error) {
    return mdist_work_on_done(work, done, (void *)function, error);
}

static int32_t combine(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    return mdistgoCombine((void *)left, (void *)right, out, count, (uintptr_t)user_data);
}

mdist_status_t mdistgo_operator_register(const char *name, size_t element_bytes, uintptr_t function,
                                         mdist_reduce_op_t *out, mdist_error_t **error) {
    return mdist_operator_register(name, element_bytes, combine, (void *)function, out, error);
}

mdist_status_t mdistgo_prepared_create(mdist_strategy_t *strategy, uint32_t local_replica, mdistgo_description what,
                                       const mdist_buffer_t *inputs, const mdist_buffer_t *outputs, size_t count,
                                       mdist_prepared_t **out, mdist_error_t **error) {
    const mdist_collective_description_t description = described(what, inputs, outputs, count);
    const mdist_call_options_t options = {
        .struct_size = sizeof options,
        .timeout_ns = what.timeout_ns,
        .group = what.group,
    };
    return mdist_prepared_create(strategy, local_replica, &description, out, &options, error);
}

static int32_t loop_element(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)strategy;
    return mdistgoLoop(loop, element, (uintptr_t)user_data);
}

mdist_status_t mdistgo_run_steps(mdist_strategy_t *strategy, mdist_iterator_t *iterator, uint64_t iterations,
                                 uintptr_t function, const mdist_value_t *initial, mdist_loop_t **out,
                                 mdist_error_t **error) {
    return mdist_run_steps(strategy, iterator, iterations, loop_element, (void *)function, initial, out, NULL, error);
}

mdist_status_t mdistgo_set_output(mdist_replica_t *replica, mdist_loop_t *loop, const char *path, mdist_tensor_t tensor,
                                  int32_t aggregation, mdist_error_t **error) {
    return mdist_replica_set_output(replica, loop, path, &tensor, (mdist_aggregation_t)aggregation, error);
}

static int32_t named_step(mdist_replica_t *replica, void *user_data) {
    return mdistgoNamedStep(replica, (uintptr_t)user_data);
}

mdist_status_t mdistgo_step_register(mdist_strategy_t *strategy, const char *name, uintptr_t state,
                                     mdist_error_t **error) {
    return mdist_step_register(strategy, name, named_step, (void *)state, error);
}

static int32_t named_update(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                            size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    return mdistgoNamedUpdate(local_replica, (mdist_tensor_t *)copy, (mdist_tensor_t *)arguments, argument_count,
                              results, result_count, (uintptr_t)user_data);
}

mdist_status_t mdistgo_update_register(mdist_strategy_t *strategy, const char *name, uintptr_t state,
                                       mdist_error_t **error) {
    return mdist_update_register(strategy, name, named_update, (void *)state, error);
}

static int32_t save(uint32_t replica_id, void *to, size_t bytes, void *user_data) {
    return mdistgoBlob(1, replica_id, to, bytes, (uintptr_t)user_data);
}

static int32_t restore(uint32_t replica_id, const void *from, size_t bytes, void *user_data) {
    return mdistgoBlob(0, replica_id, (void *)from, bytes, (uintptr_t)user_data);
}

mdist_status_t mdistgo_blob_create(mdist_strategy_t *strategy, const char *name, size_t bytes, uintptr_t functions,
                                   mdist_blob_t **out, mdist_error_t **error) {
    return mdist_blob_create(strategy, name, bytes, save, restore, (void *)functions, NULL, out, error);
}
