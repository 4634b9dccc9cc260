/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Value: the tensors that go into a run and come out of it.
 *
 * Example, with a tensor `numbers` of six numbers:
 *
 *     mdist_value_t *plain = NULL, *mirrored = NULL;
 *     mdist_tensor_t copy;
 *     mdist_value_create(&numbers, &plain, &error);             // one tensor
 *     mdist_value_mirrored(strategy, plain, &mirrored, &error); // one tensor for each local replica
 *     mdist_value_tensor(mirrored, 1, &copy, &error);           // the tensor of replica 1
 *     assert(mdist_value_count(mirrored) == 2 && mdist_tensor_elements(&copy) == 6);
 *
 * A value owns tensors. It belongs to no strategy: it fits every strategy with as many local replicas.
 * - A plain value has one tensor.
 * - A per-replica value has one tensor for each local replica. They may differ in content and shape.
 * - A mirrored value has one tensor for each local replica. They are equal.
 *
 * Values never change. Any thread that holds the handle may read them.
 *
 * A structure is a value with several leaves. Each leaf is a value of the kinds above, and has a path of names and
 * positions joined by dots: "loss", "grads.0", "grads.1", "a.b.0". Positions make a list: they go up from 0 without
 * gaps. Below each path there is one leaf, or only positions, or only names. Runs take and return structures.
 * Reductions and gathers handle them leaf by leaf. Every other value is its own single leaf, with the path "".
 * (TensorFlow: nested structures.)
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
    MDIST_VALUE_NONE        = 0, /* mdist_value_kind returns this for a bad handle */
    MDIST_VALUE_PLAIN       = 1,
    MDIST_VALUE_MIRRORED    = 2, /* made by mdist_value_mirrored, mdist_strategy_{broadcast, reduce_to} */
    MDIST_VALUE_PER_REPLICA = 3,
    MDIST_VALUE_STRUCTURE   = 4, /* has leaves instead of tensors */
    MDIST_VALUE_PIN_INT32   = -0x7fffffff - 1
} mdist_value_kind_t;

/**
 * Makes a plain value with a copy of @p tensor, on the device where the tensor lies.
 *
 * The host and GPUs both work. If the tensor's data is NULL, the value holds zeros.
 * @thread any   @blocks for the copy, on GPUs   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_create(const mdist_tensor_t *tensor, mdist_value_t **out, mdist_error_t **error);

/**
 * Makes a plain value around the caller's own memory (kept, not copied).
 *
 * The memory must stay valid and unchanged until @p free_user_data runs. If @p free_user_data is NULL, it must stay so
 * for as long as anything may read the value.
 * @thread any   @blocks no   @collective no
 * @calls-back free_user_data, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_wrap(const mdist_tensor_t *tensor, void *user_data, mdist_free_fn free_user_data,
                                          mdist_value_t **out, mdist_error_t **error);

/**
 * Makes a per-replica value with copies of @p tensors, one for each local replica in order.
 *
 * Each copy lies on its replica's device; the tensors may come from anywhere. All have one dtype.
 * @param count  must be the number of local replicas
 * @thread any   @blocks for the copies, on GPUs   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_per_replica(mdist_strategy_t *strategy, const mdist_tensor_t *tensors,
                                                 size_t count, mdist_value_t **out, mdist_error_t **error);

/**
 * Makes a mirrored value with a copy of a plain value on every local device.
 *
 * A structure is mirrored leaf by leaf. Leaves that are mirrored already are shared. A per-replica leaf is
 * MDIST_ERR_INVALID_ARGUMENT, because its replicas have different contents. (mdist_strategy_broadcast does this for one
 * tensor.)
 * @thread any   @blocks for the copies, on GPUs   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_mirrored(mdist_strategy_t *strategy, const mdist_value_t *value,
                                              mdist_value_t **out, mdist_error_t **error);

/**
 * Returns the kind of a value; MDIST_VALUE_NONE for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_value_kind_t mdist_value_kind(const mdist_value_t *value);

/**
 * Returns the number of tensors: 1 for a plain value, 0 for a structure or a bad handle, else the number of local
 * replicas.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_value_count(const mdist_value_t *value);

/**
 * Describes tensor @p index of a value that is no structure.
 *
 * device_kind says where the tensor lies. Its memory is borrowed until the value is destroyed. Only read it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_tensor(const mdist_value_t *value, size_t index, mdist_tensor_t *out,
                                            mdist_error_t **error);

/**
 * Makes a structure of @p count leaves at @p paths.
 *
 * - The structure shares the tensors of the leaves. Their handles stay yours.
 * - A leaf that is a structure itself brings its own leaves, below its path.
 * - The order of the arguments does not matter: leaves are sorted by path, positions by number.
 * - No leaves is fine. One leaf with the path "" gives that value itself.
 * - MDIST_ERR_INVALID_ARGUMENT names the path that does not fit.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_structure(const char *const *paths, mdist_value_t *const *leaves, size_t count,
                                               mdist_value_t **out, mdist_error_t **error);

/**
 * Returns the number of leaves of a structure; 1 for any other value, 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API size_t mdist_value_leaf_count(const mdist_value_t *value);

/**
 * Returns the path of leaf @p index, borrowed until the value is destroyed.
 *
 * It returns "" for a value that is no structure, for an index out of range, and for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_value_leaf_path(const mdist_value_t *value, size_t index);

/**
 * Gives the leaf at @p path, or the structure below it.
 *
 * For "grads.0" and "grads.1", the path "grads" gives a structure with the paths "0" and "1". The path "" gives the
 * whole value. The result shares the tensors and outlives @p value. MDIST_ERR_NOT_FOUND lists the paths there are.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_at(const mdist_value_t *value, const char *path, mdist_value_t **out,
                                        mdist_error_t **error);

/**
 * Makes the value of replica @p replica_id of @p replica_count.
 *
 * It sets @p out to a plain value, or a structure of plain values, that it makes and hands over, even if it fails. It
 * returns 0, or any other number to fail the call; mdist_error_native then gives the number.
 */
typedef int32_t (*mdist_value_fn)(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data);

/**
 * Calls @p function for each local replica, one after another, and regroups the results.
 *
 * The result is a per-replica value, even with one replica, or a structure of such values. It shares the tensors. Paths
 * and dtypes must be the same for all replicas, else MDIST_ERR_MISMATCH. (TensorFlow:
 * Strategy.experimental_distribute_values_from_function.)
 * @thread any, in cross-replica context   @blocks until the last call has returned   @collective no
 * @calls-back function, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_values_from_function(mdist_strategy_t *strategy, mdist_value_fn function,
                                                    void *user_data, mdist_value_t **out, mdist_error_t **error);

/**
 * Makes a value of rows: some rows of a larger tensor, with their indices.
 *
 * Tensor i of @p values holds rows (slices along its first dimension). Tensor i of @p indices, int64 and as long as
 * that dimension, says which rows of the larger tensor they are. They come in any order, and an index may come twice.
 * Both values are of one kind.
 *
 * mdist_strategy_reduce, mdist_strategy_reduce_to and mdist_variable_assign take rows. Other functions return
 * MDIST_ERR_UNSUPPORTED for them. (TensorFlow: IndexedSlices.)
 * @param out  shares the tensors of @p indices and @p values; both may be destroyed
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_sparse(const mdist_value_t *indices, const mdist_value_t *values,
                                            mdist_value_t **out, mdist_error_t **error);

/**
 * Describes the indices that belong to tensor @p index of a value of rows.
 *
 * mdist_value_tensor gives the rows themselves. For a value of whole tensors, data is NULL and dtype 0. The memory is
 * borrowed until the value is destroyed. Only read it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_indices(const mdist_value_t *value, size_t index, mdist_tensor_t *out,
                                             mdist_error_t **error);

/**
 * Frees a value. NULL is ignored.
 * @thread any   @blocks no   @collective no   @calls-back as mdist_value_wrap and dlpack.h say   @since 0.1
 */
MDIST_API void mdist_value_destroy(mdist_value_t *value);

#ifdef __cplusplus
}
#endif

#endif
