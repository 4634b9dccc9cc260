/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Value: what goes into a run and comes out of it.
 *
 * A value owns tensors, and belongs to no strategy: it fits every one with as many local replicas. A plain value has
 * one tensor. A per-replica value has one for each local replica, and they may differ in content and shape. A mirrored
 * value has one for each local replica, and they are equal. Values never change once made; whoever holds the handle may
 * read them from any thread.
 *
 * A structure is a value of several leaves, which are values of the kinds above, each at a path of names and positions
 * joined by dots: "loss", "grads.0", "grads.1", "a.b.0". Positions make a list and go up from 0 without gaps; at one
 * place there is a leaf, or positions, or names. Runs take structures and give them; reductions and gathers go through
 * them leaf by leaf. Every other value is its own single leaf, with the path "". (TensorFlow: nested structures.)
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
    MDIST_VALUE_MIRRORED    = 2, /* made by mdist_value_mirrored, mdist_broadcast_to and the reductions */
    MDIST_VALUE_PER_REPLICA = 3,
    MDIST_VALUE_STRUCTURE   = 4, /* holds no tensors itself, but leaves */
    MDIST_VALUE_PIN_INT32   = -0x7fffffff - 1
} mdist_value_kind_t;

/**
 * A plain value with a copy of @p tensor where that lies, on the host or a GPU; zeros where its data is NULL.
 * @thread any   @blocks for the copy, on GPUs   @collective no   @calls-back never   @since 0.1
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
 * A per-replica value with copies of @p tensors, one for each local replica in order and on its device, wherever they
 * come from. All have one dtype.
 * @param count  must be the number of local replicas
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_per_replica(mdist_strategy_t *strategy, const mdist_tensor_t *tensors,
                                                 size_t count, mdist_value_t **out, mdist_error_t **error);

/**
 * A mirrored value with a copy of a plain one on every local device; of a structure, leaf by leaf. What is mirrored
 * already is shared; a per-replica leaf is MDIST_ERR_INVALID_ARGUMENT, for nobody could say which content was meant.
 * (mdist_broadcast_to does it for one tensor.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_mirrored(mdist_strategy_t *strategy, const mdist_value_t *value,
                                              mdist_value_t **out, mdist_error_t **error);

/**
 * The kind; MDIST_VALUE_NONE for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_value_kind_t mdist_value_kind(const mdist_value_t *value);

/**
 * How many tensors it holds: 1 for a plain value, else the number of local replicas; 0 for a structure or a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_value_count(const mdist_value_t *value);

/**
 * Describes tensor @p index of a value that is no structure, and says where it lies (device_kind). Its memory is
 * borrowed until the value is destroyed; only read it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_tensor(const mdist_value_t *value, size_t index, mdist_tensor_t *out,
                                            mdist_error_t **error);

/**
 * A structure of @p count leaves at @p paths; it shares their tensors, and the handles stay yours. A leaf that is a
 * structure itself brings its leaves, below its path. Their order does not matter: leaves are sorted by path, positions
 * by number. No leaves is fine; one leaf with the path "" gives that value itself.
 * MDIST_ERR_INVALID_ARGUMENT names the path that does not fit.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_structure(const char *const *paths, mdist_value_t *const *leaves, size_t count,
                                               mdist_value_t **out, mdist_error_t **error);

/**
 * Leaves of a structure; 1 for any other value, 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_value_leaf_count(const mdist_value_t *value);

/**
 * Path of leaf @p index, borrowed until the value is destroyed; "" where there is no structure, for an index out of
 * range, and for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_value_leaf_path(const mdist_value_t *value, size_t index);

/**
 * The leaf at @p path, or what lies below it as a structure of its own ("grads" of "grads.0" and "grads.1" has "0" and
 * "1"); "" is the whole. It shares the tensors and outlives @p value. MDIST_ERR_NOT_FOUND lists what there is.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_at(const mdist_value_t *value, const char *path, mdist_value_t **out,
                                        mdist_error_t **error);

/**
 * Gives what replica @p replica_id of @p replica_count shall have: a plain value or a structure of such, which it made
 * and hands over in @p out, also if it fails. Returns 0, or any other number to fail the call, which mdist_error_native
 * then gives.
 */
typedef int32_t (*mdist_value_fn)(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data);

/**
 * Calls @p function for each local replica, one after another, and regroups what it gives: a per-replica value, also
 * with one replica, or a structure of such. Paths and dtypes must be the same for all, else MDIST_ERR_MISMATCH. It
 * shares the tensors. (TensorFlow: Strategy.experimental_distribute_values_from_function.)
 * @thread any, in cross-replica context   @blocks until the last call has returned   @collective no
 * @calls-back function, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_values_from_function(mdist_strategy_t *strategy, mdist_value_fn function,
                                                    void *user_data, mdist_value_t **out, mdist_error_t **error);

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
