// SPDX-License-Identifier: Apache-2.0
// Shim: the few places where the library's signatures and cgo's rules do not meet.
//
// State of Go behind a callback is a cgo.Handle: an integer, which has no business in a void * of Go. Descriptions of
// memory that may be Go's come by value, for C must not be given memory that holds Go pointers. Functions of C cannot
// be named in Go as callbacks, so those that the library calls are put in place here.
#pragma once

#include <mdist/mdist.h>

#if MDIST_VERSION / 100 != 3
#error "this package needs libmdist 0.3; PKG_CONFIG_PATH decides which one pkg-config finds"
#endif

enum { MDISTGO_DIRECT = 16 };
typedef struct mdistgo_buffers {
    mdist_buffer_t at[MDISTGO_DIRECT];
} mdistgo_buffers;

typedef enum mdistgo_collective {
    MDISTGO_ALL_REDUCE = MDIST_COLLECTIVE_ALL_REDUCE,
    MDISTGO_BROADCAST = MDIST_COLLECTIVE_BROADCAST,
    MDISTGO_ALL_GATHER = MDIST_COLLECTIVE_ALL_GATHER,
    MDISTGO_REDUCE_SCATTER = MDIST_COLLECTIVE_REDUCE_SCATTER,
    MDISTGO_ALL_TO_ALL = MDIST_COLLECTIVE_ALL_TO_ALL,
    MDISTGO_REDUCE_TO_ROOT = MDIST_COLLECTIVE_REDUCE_TO_ROOT,
    MDISTGO_GATHER_TO_ROOT = MDIST_COLLECTIVE_GATHER_TO_ROOT,
    MDISTGO_SCATTER = MDIST_COLLECTIVE_SCATTER,
    MDISTGO_ALL_TO_ALL_PARTS = MDIST_COLLECTIVE_ALL_TO_ALL_PARTS,
    MDISTGO_BARRIER = MDIST_COLLECTIVE_BARRIER,
    MDISTGO_SEND = 100, // messages are no collectives
    MDISTGO_RECEIVE,
} mdistgo_collective;

// Which collective, and what it wants to know beside its buffers.
typedef struct mdistgo_operation {
    mdistgo_collective kind;
    uint32_t op;   // an mdist_reduce_op_t, of a reduction
    uint32_t root; // where there is one; of a message, the other replica
    uint64_t tag;  // of a message
    const mdist_group_t *group;
    uint64_t timeout_ns;
    const uint64_t *input_parts, *output_parts; // of an all-to-all of parts; may be Go's
} mdistgo_operation;

// Blocks if work is NULL, else starts it.
mdist_status_t mdistgo_collect(mdistgo_operation what, mdist_replica_t *replica, const mdist_buffer_t *inputs,
                               const mdist_buffer_t *outputs, size_t count, mdist_work_t **work, mdist_error_t **error);
mdist_status_t mdistgo_collect_direct(mdistgo_operation what, mdist_replica_t *replica, mdistgo_buffers inputs,
                                      mdistgo_buffers outputs, size_t count, mdist_error_t **error);
mdist_status_t mdistgo_collect_in_place(mdistgo_operation what, mdist_replica_t *replica, mdistgo_buffers buffers,
                                        size_t count, mdist_error_t **error);

mdist_status_t mdistgo_run(mdist_strategy_t *strategy, uintptr_t run, mdist_value_t *const *arguments, size_t count,
                           mdist_value_t **results, size_t result_count, uint64_t timeout_ns, mdist_error_t **error);
mdist_status_t mdistgo_run_begin(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t count,
                                 size_t result_count, uint64_t timeout_ns, mdist_error_t **error);
mdist_status_t mdistgo_run_named(mdist_strategy_t *strategy, const char *name, mdist_value_t *const *arguments,
                                 size_t count, mdist_value_t **results, size_t result_count, uint64_t timeout_ns,
                                 mdist_error_t **error);
mdist_status_t mdistgo_update_named(mdist_strategy_t *strategy, mdist_variable_t *variable, const char *name,
                                    mdist_value_t *const *arguments, size_t count, mdist_value_t **results,
                                    size_t result_count, mdist_error_t **error);
mdist_status_t mdistgo_merge_call(mdist_replica_t *replica, uintptr_t merge, const mdist_tensor_t *arguments,
                                  size_t count, mdist_tensor_t *results, size_t result_count, mdist_error_t **error);
// Why, or NULL, is said on the thread that the number comes from: between two calls a goroutine may change threads.
mdist_status_t mdistgo_exit(mdist_replica_t *replica, int32_t code, const char *why, mdist_error_t **error);
mdist_status_t mdistgo_merge_end(mdist_replica_t *replica, int32_t code, const char *why, mdist_value_t *const *values,
                                 mdist_tensor_t *results, size_t count, mdist_error_t **error);
// Of what belongs to no variable if that is NULL.
mdist_status_t mdistgo_update(mdist_strategy_t *strategy, mdist_variable_t *variable, uintptr_t update,
                              mdist_value_t *const *arguments, size_t count, mdist_value_t **results,
                              size_t result_count, mdist_error_t **error);
mdist_status_t mdistgo_map(mdist_strategy_t *strategy, uint64_t count, uintptr_t map, mdist_value_t *const *arguments,
                           size_t argument_count, mdist_value_t **results, size_t result_count, uint64_t timeout_ns,
                           mdist_error_t **error);
mdist_status_t mdistgo_values_from_function(mdist_strategy_t *strategy, uintptr_t function, mdist_value_t **out,
                                            mdist_error_t **error);
// The content itself if fetch is 0.
mdist_status_t mdistgo_fetch(mdist_strategy_t *strategy, const mdist_value_t *from, const char *destination,
                             uintptr_t fetch, mdist_value_t **out, mdist_error_t **error);
mdist_status_t mdistgo_dataset_map(const mdist_dataset_t *source, uintptr_t map, const mdist_tensor_t *outputs,
                                   size_t count, mdist_dataset_t **out, mdist_error_t **error);
// memory, of mdist_alloc, holds all the arrays; the dataset frees it.
mdist_status_t mdistgo_dataset_from_tensors(const mdist_tensor_t *arrays, size_t count, void *memory,
                                            mdist_dataset_t **out, mdist_error_t **error);

// Tensors whose data may be Go's, of no use to the library once the call returns.
mdist_status_t mdistgo_set_result(mdist_replica_t *replica, size_t index, const char *path, mdist_tensor_t tensor,
                                  mdist_error_t **error);
mdist_status_t mdistgo_value_create(mdist_tensor_t tensor, mdist_value_t **out, mdist_error_t **error);
mdist_status_t mdistgo_broadcast_to(mdist_strategy_t *strategy, mdist_tensor_t tensor, mdist_value_t **out,
                                    mdist_error_t **error);
mdist_status_t mdistgo_replica_assign(mdist_replica_t *replica, mdist_variable_t *variable, mdist_assign_t assign,
                                      mdist_tensor_t tensor, mdist_error_t **error);
// In a step if replica is not NULL.
mdist_status_t mdistgo_variable_create(mdist_strategy_t *strategy, mdist_replica_t *replica, const char *name,
                                       mdist_tensor_t initial, int32_t synchronization, int32_t aggregation,
                                       const mdist_variable_t *colocate_with, mdist_variable_t **out,
                                       mdist_error_t **error);
mdist_status_t mdistgo_all_reduce_sparse(mdist_replica_t *replica, mdist_reduce_op_t op, mdist_tensor_t indices,
                                         mdist_tensor_t values, mdist_value_t **out, mdist_error_t **error);
mdist_status_t mdistgo_replica_assign_sparse(mdist_replica_t *replica, mdist_variable_t *variable,
                                             mdist_assign_t assign, mdist_tensor_t indices, mdist_tensor_t values,
                                             mdist_error_t **error);
// No weights if their dtype is 0.
mdist_status_t mdistgo_average_loss(mdist_replica_t *replica, mdist_tensor_t per_example, mdist_tensor_t weights,
                                    uint64_t *global_batch, double *loss, mdist_error_t **error);
mdist_status_t mdistgo_scale_regularization(mdist_replica_t *replica, mdist_tensor_t terms, double *loss,
                                            mdist_error_t **error);

// In a step if replica is not NULL.
mdist_status_t mdistgo_copy(mdist_replica_t *replica, mdist_tensor_t to, mdist_tensor_t from, mdist_error_t **error);

// Options are structs that cgo would have Go fill in.
mdist_status_t mdistgo_checkpoint_restore(mdist_checkpoint_t *checkpoint, uint64_t number, int32_t partial,
                                          uint64_t *restored, mdist_error_t **error);
mdist_status_t mdistgo_gradients_create(mdist_strategy_t *strategy, const mdist_tensor_t *like, size_t count,
                                        int32_t lent, uint32_t flags, int32_t op, uint64_t bucket_bytes,
                                        double clip_norm, mdist_gradients_t **out, mdist_error_t **error);

// mdist_input_options_t without its size. The weights, if any, lie in C's memory.
typedef struct mdistgo_input_options {
    uint32_t flags;
    int32_t policy;
    int32_t uneven;
    int32_t replication_mode;
    int32_t fetch_to_device;
    uint64_t buffer_size;
    const double *weights;
    size_t weight_count;
} mdistgo_input_options;

mdist_status_t mdistgo_distribute_dataset(mdist_strategy_t *strategy, const mdist_dataset_t *source,
                                          mdistgo_input_options options, mdist_dataset_t **out, mdist_error_t **error);
mdist_status_t mdistgo_distribute_from_function(mdist_strategy_t *strategy, uintptr_t function,
                                                mdistgo_input_options options, mdist_dataset_t **out,
                                                mdist_error_t **error);
mdist_status_t mdistgo_input_context_batch_size(uint32_t pipeline_count, uint32_t pipeline, uint32_t replica_count,
                                                uint64_t global_batch_size, uint64_t *out, mdist_error_t **error);

// mdist_read_options_t without its size and flags.
typedef struct mdistgo_read_options {
    int32_t compression;
    int32_t on_corrupt;
    uint64_t cycle_length;
    uint64_t block_length;
    uint64_t max_record_bytes;
    uint64_t parallel_files;
} mdistgo_read_options;

mdist_status_t mdistgo_dataset_text_lines(const mdist_dataset_t *files, mdistgo_read_options options,
                                          mdist_dataset_t **out, mdist_error_t **error);
mdist_status_t mdistgo_dataset_tfrecords(const mdist_dataset_t *files, mdistgo_read_options options,
                                         mdist_dataset_t **out, mdist_error_t **error);
mdist_status_t mdistgo_dataset_fixed_records(const mdist_dataset_t *files, uint64_t record_bytes, uint64_t header_bytes,
                                             uint64_t footer_bytes, mdistgo_read_options options, mdist_dataset_t **out,
                                             mdist_error_t **error);
mdist_status_t mdistgo_dataset_filter(const mdist_dataset_t *source, uintptr_t filter, mdist_dataset_t **out,
                                      mdist_error_t **error);
mdist_status_t mdistgo_dataset_from_generator(uintptr_t generator, const mdist_tensor_t *outputs, size_t count,
                                              mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                              mdist_error_t **error);

mdist_status_t mdistgo_work_on_done(mdist_work_t *work, uintptr_t function, mdist_error_t **error);
mdist_status_t mdistgo_operator_register(const char *name, size_t element_bytes, uintptr_t combine,
                                         mdist_reduce_op_t *out, mdist_error_t **error);

// mdist_collective_description_t without its size and buffers, and its options. The parts may be Go's.
typedef struct mdistgo_description {
    int32_t kind;
    int32_t op;
    uint32_t root;
    const uint64_t *input_parts, *output_parts;
    const mdist_group_t *group;
    uint64_t timeout_ns;
} mdistgo_description;

mdist_status_t mdistgo_prepared_create(mdist_strategy_t *strategy, uint32_t local_replica, mdistgo_description what,
                                       const mdist_buffer_t *inputs, const mdist_buffer_t *outputs, size_t count,
                                       mdist_prepared_t **out, mdist_error_t **error);

mdist_status_t mdistgo_run_steps(mdist_strategy_t *strategy, mdist_iterator_t *iterator, uint64_t iterations,
                                 uintptr_t function, const mdist_value_t *initial, mdist_loop_t **out,
                                 mdist_error_t **error);
mdist_status_t mdistgo_set_output(mdist_replica_t *replica, mdist_loop_t *loop, const char *path, mdist_tensor_t tensor,
                                  int32_t aggregation, mdist_error_t **error);
mdist_status_t mdistgo_step_register(mdist_strategy_t *strategy, const char *name, uintptr_t step,
                                     mdist_error_t **error);
mdist_status_t mdistgo_update_register(mdist_strategy_t *strategy, const char *name, uintptr_t update,
                                       mdist_error_t **error);
mdist_status_t mdistgo_blob_create(mdist_strategy_t *strategy, const char *name, size_t bytes, uintptr_t functions,
                                   mdist_blob_t **out, mdist_error_t **error);
