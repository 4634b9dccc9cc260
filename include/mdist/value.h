/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Value: what goes into a run and comes out of it.
 *
 * A value owns tensors, and belongs to no strategy: it fits every one with as many local replicas. A plain value has
 * one tensor. A per-replica value has one for each local replica, and they may differ in content and shape. A mirrored
 * value has one for each local replica, and they are equal. Values never change once made; whoever holds the handle may
 * read them from any thread.
 */
#ifndef MDIST_VALUE_H
#define MDIST_VALUE_H

#include <mdist/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_value mdist_value_t;
typedef struct mdist_strategy mdist_strategy_t;

typedef enum mdist_value_kind {
    MDIST_VALUE_NONE        = 0, /* what mdist_value_kind says of a bad handle */
    MDIST_VALUE_PLAIN       = 1,
    MDIST_VALUE_MIRRORED    = 2, /* made by mdist_broadcast_to and the reductions */
    MDIST_VALUE_PER_REPLICA = 3,
    MDIST_VALUE_PIN_INT32   = -0x7fffffff - 1
} mdist_value_kind_t;

/**
 * A plain value with a copy of @p tensor; zeros where its data is NULL.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_create(const mdist_tensor_t *tensor, mdist_value_t **out, mdist_error_t **error);

/**
 * A plain value around the caller's own memory (kept, not copied). The memory must stay valid and unchanged until
 * @p free_user_data runs; with NULL there, for as long as anything may read the value.
 * @thread any   @blocks no   @collective no
 * @calls-back free_user_data, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_wrap(const mdist_tensor_t *tensor, void *user_data, mdist_free_fn free_user_data,
                                          mdist_value_t **out, mdist_error_t **error);

/**
 * A per-replica value with copies of @p tensors, one for each local replica in order. All have one dtype.
 * @param count  must be the number of local replicas
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_per_replica(mdist_strategy_t *strategy, const mdist_tensor_t *tensors,
                                                 size_t count, mdist_value_t **out, mdist_error_t **error);

/**
 * The kind; MDIST_VALUE_NONE for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_value_kind_t mdist_value_kind(const mdist_value_t *value);

/**
 * How many tensors it holds: 1 for a plain value, else the number of local replicas; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_value_count(const mdist_value_t *value);

/**
 * Describes tensor @p index. Its memory is borrowed until the value is destroyed; only read it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_tensor(const mdist_value_t *value, size_t index, mdist_tensor_t *out,
                                            mdist_error_t **error);

/**
 * Rows of larger tensors, without those that are not there: tensor i of @p values holds rows (slices along its first
 * dimension), and tensor i of @p indices, int64 and as long as that dimension, says which rows of the larger one they
 * are; in any order, the same one twice, too. Both values are of one kind. mdist_reduce, mdist_reduce_to,
 * mdist_batch_reduce_to and mdist_variable_assign take rows; elsewhere they are MDIST_ERR_UNSUPPORTED.
 * (TensorFlow: IndexedSlices.)
 * @param out  shares the tensors of both, which may be destroyed
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_rows(const mdist_value_t *indices, const mdist_value_t *values,
                                          mdist_value_t **out, mdist_error_t **error);

/**
 * Describes the indices of tensor @p index, which mdist_value_tensor gives the rows of; data NULL and dtype 0 for a
 * value of whole tensors. Borrowed until the value is destroyed; only read it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_indices(const mdist_value_t *value, size_t index, mdist_tensor_t *out,
                                             mdist_error_t **error);

/**
 * Frees a value. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back as mdist_value_wrap and dlpack.h say   @since 0.1
 */
MDIST_API void mdist_value_destroy(mdist_value_t *value);

#ifdef __cplusplus
}
#endif

#endif
