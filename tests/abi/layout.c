/* SPDX-License-Identifier: Apache-2.0 */
/* Checks sizes, offsets and numbers against those first released. Lines may be added here, but never change. */
#include <mdist/mdist.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has changed its size")
#define FIELD(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field " has moved")
#define NUMBER(constant, number) _Static_assert((constant) == (number), #constant " has changed")
#define SIGNED_INT32(type) _Static_assert(sizeof(type) == 4 && (type)-1 < 0, #type " is no signed 32-bit number")

/* Used in arrays: these never change. */
SIZE(mdist_buffer_t, 24);
FIELD(mdist_buffer_t, data, 0);
FIELD(mdist_buffer_t, elements, 8);
FIELD(mdist_buffer_t, dtype, 16);
FIELD(mdist_buffer_t, reserved, 20);

SIZE(mdist_tensor_t, 88);
FIELD(mdist_tensor_t, data, 0);
FIELD(mdist_tensor_t, dtype, 8);
FIELD(mdist_tensor_t, rank, 12);
FIELD(mdist_tensor_t, device_kind, 16);
FIELD(mdist_tensor_t, device_index, 20);
FIELD(mdist_tensor_t, shape, 24);

SIZE(mdist_dlpack_t, 16);
FIELD(mdist_dlpack_t, plain, 0);
FIELD(mdist_dlpack_t, versioned, 8);

SIZE(mdist_task_t, 16);
FIELD(mdist_task_t, task_type, 0);
FIELD(mdist_task_t, task_index, 4);
FIELD(mdist_task_t, address, 8);

/* May grow at the end: the sizes are those of this version. The offsets never change. */
SIZE(mdist_call_options_t, 40);
FIELD(mdist_call_options_t, struct_size, 0);
FIELD(mdist_call_options_t, flags, 4);
FIELD(mdist_call_options_t, timeout_ns, 8);
FIELD(mdist_call_options_t, bytes_per_pack, 16);
FIELD(mdist_call_options_t, implementation, 24);
FIELD(mdist_call_options_t, reserved, 28);
FIELD(mdist_call_options_t, group, 32);

SIZE(mdist_collective_description_t, 56);
FIELD(mdist_collective_description_t, struct_size, 0);
FIELD(mdist_collective_description_t, kind, 4);
FIELD(mdist_collective_description_t, op, 8);
FIELD(mdist_collective_description_t, root, 12);
FIELD(mdist_collective_description_t, inputs, 16);
FIELD(mdist_collective_description_t, outputs, 24);
FIELD(mdist_collective_description_t, buffer_count, 32);
FIELD(mdist_collective_description_t, input_parts, 40);
FIELD(mdist_collective_description_t, output_parts, 48);

SIZE(mdist_variable_options_t, 24);
FIELD(mdist_variable_options_t, struct_size, 0);
FIELD(mdist_variable_options_t, synchronization, 4);
FIELD(mdist_variable_options_t, aggregation, 8);
FIELD(mdist_variable_options_t, reserved, 12);
FIELD(mdist_variable_options_t, colocate_with, 16);

SIZE(mdist_gradients_options_t, 32);
FIELD(mdist_gradients_options_t, struct_size, 0);
FIELD(mdist_gradients_options_t, flags, 4);
FIELD(mdist_gradients_options_t, op, 8);
FIELD(mdist_gradients_options_t, reserved, 12);
FIELD(mdist_gradients_options_t, bucket_bytes, 16);
FIELD(mdist_gradients_options_t, clip_norm, 24);

SIZE(mdist_restore_options_t, 16);
FIELD(mdist_restore_options_t, struct_size, 0);
FIELD(mdist_restore_options_t, flags, 4);
FIELD(mdist_restore_options_t, timeout_ns, 8);

SIZE(mdist_read_options_t, 48);
FIELD(mdist_read_options_t, struct_size, 0);
FIELD(mdist_read_options_t, flags, 4);
FIELD(mdist_read_options_t, compression, 8);
FIELD(mdist_read_options_t, on_corrupt, 12);
FIELD(mdist_read_options_t, cycle_length, 16);
FIELD(mdist_read_options_t, block_length, 24);
FIELD(mdist_read_options_t, max_record_bytes, 32);
FIELD(mdist_read_options_t, parallel_files, 40);

SIZE(mdist_input_options_t, 48);
FIELD(mdist_input_options_t, struct_size, 0);
FIELD(mdist_input_options_t, flags, 4);
FIELD(mdist_input_options_t, policy, 8);
FIELD(mdist_input_options_t, uneven, 12);
FIELD(mdist_input_options_t, replication_mode, 16);
FIELD(mdist_input_options_t, fetch_to_device, 20);
FIELD(mdist_input_options_t, buffer_size, 24);
FIELD(mdist_input_options_t, weights, 32);
FIELD(mdist_input_options_t, weight_count, 40);

SIZE(mdist_input_context_t, 16);
FIELD(mdist_input_context_t, struct_size, 0);
FIELD(mdist_input_context_t, pipeline_count, 4);
FIELD(mdist_input_context_t, pipeline, 8);
FIELD(mdist_input_context_t, replica_count, 12);

SIZE(mdist_config_key_t, 56);
FIELD(mdist_config_key_t, struct_size, 0);
FIELD(mdist_config_key_t, reserved, 4);
FIELD(mdist_config_key_t, name, 8);
FIELD(mdist_config_key_t, environment, 16);
FIELD(mdist_config_key_t, kind, 24);
FIELD(mdist_config_key_t, choices, 32);
FIELD(mdist_config_key_t, default_text, 40);
FIELD(mdist_config_key_t, help, 48);

SIZE(mdist_store_options_t, 40);
FIELD(mdist_store_options_t, struct_size, 0);
FIELD(mdist_store_options_t, worker_count, 4);
FIELD(mdist_store_options_t, restart, 8);
FIELD(mdist_store_options_t, reserved, 12);
FIELD(mdist_store_options_t, job, 16);
FIELD(mdist_store_options_t, secret, 24);
FIELD(mdist_store_options_t, config, 32);

SIZE(mdist_store_info_t, 3412);
FIELD(mdist_store_info_t, struct_size, 0);
FIELD(mdist_store_info_t, joined, 4);
FIELD(mdist_store_info_t, first_gone, 8);
FIELD(mdist_store_info_t, ended, 12);
FIELD(mdist_store_info_t, committed, 16);
FIELD(mdist_store_info_t, address, 20);
FIELD(mdist_store_info_t, progress, 340);

SIGNED_INT32(mdist_reduce_op_t);
SIGNED_INT32(mdist_log_level_t);
SIGNED_INT32(mdist_status_t);
SIGNED_INT32(mdist_dtype_t);
SIGNED_INT32(mdist_device_kind_t);
SIGNED_INT32(mdist_value_kind_t);
SIGNED_INT32(mdist_synchronization_t);
SIGNED_INT32(mdist_aggregation_t);
SIGNED_INT32(mdist_assign_t);

SIZE(mdist_free_fn, 8);
SIZE(mdist_map_fn, 8);
SIZE(mdist_log_fn, 8);
SIZE(mdist_step_fn, 8);
SIZE(mdist_merge_fn, 8);
SIZE(mdist_update_fn, 8);
SIZE(mdist_fetch_fn, 8);

NUMBER(MDIST_SUM, 1);
NUMBER(MDIST_MEAN, 2);
NUMBER(MDIST_MIN, 3);
NUMBER(MDIST_MAX, 4);
NUMBER(MDIST_PROD, 5);
NUMBER(MDIST_AND, 6);
NUMBER(MDIST_OR, 7);
NUMBER(MDIST_XOR, 8);

NUMBER(MDIST_LOG_OFF, 0);
NUMBER(MDIST_LOG_ERROR, 1);
NUMBER(MDIST_LOG_WARN, 2);
NUMBER(MDIST_LOG_INFO, 3);
NUMBER(MDIST_LOG_DEBUG, 4);

NUMBER(MDIST_OK, 0);
NUMBER(MDIST_END, 1);
NUMBER(MDIST_ERR_INVALID_ARGUMENT, -1);
NUMBER(MDIST_ERR_BAD_HANDLE, -2);
NUMBER(MDIST_ERR_WRONG_CONTEXT, -3);
NUMBER(MDIST_ERR_FAILED_PRECONDITION, -4);
NUMBER(MDIST_ERR_CONFIG, -5);
NUMBER(MDIST_ERR_NOT_FOUND, -6);
NUMBER(MDIST_ERR_UNSUPPORTED, -7);
NUMBER(MDIST_ERR_OUT_OF_MEMORY, -8);
NUMBER(MDIST_ERR_RESOURCE, -9);
NUMBER(MDIST_ERR_IO, -10);
NUMBER(MDIST_ERR_DATA_LOSS, -11);
NUMBER(MDIST_ERR_MISMATCH, -12);
NUMBER(MDIST_ERR_TIMEOUT, -13);
NUMBER(MDIST_ERR_PEER_LOST, -14);
NUMBER(MDIST_ERR_ABORTED, -15);
NUMBER(MDIST_ERR_UNAUTHENTICATED, -16);
NUMBER(MDIST_ERR_CALLBACK, -17);
NUMBER(MDIST_ERR_DEVICE, -18);
NUMBER(MDIST_ERR_INTERNAL, -19);

NUMBER(MDIST_FLOAT32, 1);
NUMBER(MDIST_FLOAT64, 2);
NUMBER(MDIST_FLOAT16, 3);
NUMBER(MDIST_BFLOAT16, 4);
NUMBER(MDIST_INT8, 5);
NUMBER(MDIST_UINT8, 6);
NUMBER(MDIST_INT32, 7);
NUMBER(MDIST_UINT32, 8);
NUMBER(MDIST_INT64, 9);
NUMBER(MDIST_UINT64, 10);
NUMBER(MDIST_INT16, 11);
NUMBER(MDIST_UINT16, 12);
NUMBER(MDIST_BOOL, 13);

NUMBER(MDIST_DEVICE_CPU, 0);
NUMBER(MDIST_DEVICE_GPU, 1);

NUMBER(MDIST_VALUE_PLAIN, 1);
NUMBER(MDIST_VALUE_MIRRORED, 2);
NUMBER(MDIST_VALUE_PER_REPLICA, 3);

NUMBER(MDIST_SYNC_AUTO, 0);
NUMBER(MDIST_SYNC_ON_WRITE, 1);
NUMBER(MDIST_SYNC_ON_READ, 2);

NUMBER(MDIST_AGGREGATION_NONE, 0);
NUMBER(MDIST_AGGREGATION_SUM, 1);
NUMBER(MDIST_AGGREGATION_MEAN, 2);
NUMBER(MDIST_AGGREGATION_ONLY_FIRST_REPLICA, 3);

NUMBER(MDIST_ASSIGN_SET, 1);
NUMBER(MDIST_ASSIGN_ADD, 2);
NUMBER(MDIST_ASSIGN_MUL, 4);
NUMBER(MDIST_ASSIGN_DIV, 5);
NUMBER(MDIST_ASSIGN_MIN, 6);
NUMBER(MDIST_ASSIGN_MAX, 7);
NUMBER(MDIST_ASSIGN_SUB, 3);

NUMBER(MDIST_MAX_RANK, 8);
NUMBER(MDIST_FOREVER, INT64_MAX - 0xfe);
NUMBER(MDIST_LATEST, INT64_MAX - 0xfc);
NUMBER(MDIST_GRADIENTS_ZERO_MISSING, 1);
NUMBER(MDIST_GRADIENTS_ZERO_NONFINITE, 2);
NUMBER(MDIST_GRADIENTS_NO_NORM, 4);
NUMBER(MDIST_COLLECTIVE_ALL_REDUCE, 1);
NUMBER(MDIST_COLLECTIVE_BROADCAST, 2);
NUMBER(MDIST_COLLECTIVE_ALL_GATHER, 3);
NUMBER(MDIST_COLLECTIVE_REDUCE_SCATTER, 4);
NUMBER(MDIST_COLLECTIVE_ALL_TO_ALL, 5);
NUMBER(MDIST_COLLECTIVE_ALL_TO_ALL_PARTS, 6);
NUMBER(MDIST_COLLECTIVE_REDUCE_TO_ROOT, 7);
NUMBER(MDIST_COLLECTIVE_GATHER_TO_ROOT, 8);
NUMBER(MDIST_COLLECTIVE_SCATTER, 9);
NUMBER(MDIST_COLLECTIVE_BARRIER, 10);
NUMBER(MDIST_RESTORE_PARTIAL, 1);
NUMBER(MDIST_UNKNOWN_LENGTH, INT64_MAX - 0xfd);
NUMBER(MDIST_VERSION, 10000 * MDIST_VERSION_MAJOR + 100 * MDIST_VERSION_MINOR + MDIST_VERSION_PATCH);

int main(void) {
    return 0;
}
