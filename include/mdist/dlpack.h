/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DLPack: exchanges tensors with other libraries (NumPy, PyTorch, JAX, CuPy ...) without copying.
 *
 * Example, with a tensor `numbers`:
 *
 *     mdist_value_t *ours = NULL, *theirs = NULL;
 *     mdist_dlpack_t managed;
 *     mdist_value_create(&numbers, &ours, &error);
 *     mdist_value_to_dlpack(ours, 0, 1, &managed, &error); // managed.versioned is for NumPy, PyTorch ...
 *     mdist_value_from_dlpack(&managed, &theirs, &error);  // what they gave; here the same memory comes back
 *
 * Both layouts of DLPack can be imported and exported: DLManagedTensor (up to DLPack 0.8) and DLManagedTensorVersioned
 * (1.x). This header declares them by name only, as <dlpack/dlpack.h> defines them. Include that header, or your own
 * definition, to look inside. Everything but the following fails with MDIST_ERR_UNSUPPORTED and the reason in brackets:
 *
 * - memory of the host, also page-locked by CUDA: device types 1 and 3; and of CUDA's GPUs, type 2 (`dlpack_device`)
 * - one of the thirteen element types, bfloat16 included, in one lane (`dlpack_dtype`)
 * - up to MDIST_MAX_RANK dimensions (`dlpack_rank`)
 * - dense and row-major: strides are NULL, or those of such a tensor. Any stride is accepted for a dimension of size 1,
 *   and in a tensor without elements (`dlpack_strides`). mdist_buffer_from_dlpack takes any order of the dimensions
 * - major version 1, if the layout has a version (`dlpack_version`)
 *
 * Memory of a GPU is exchanged as it is. The library waits for no stream: the caller must do that, as for Python's
 * `__dlpack__(stream)`.
 *
 * - Import: the data must be there when the library next uses it. That is before mdist_run, or in a step on the
 *   replica's stream (mdist_replica_stream).
 * - Export: the data is there already, because a value is complete when you receive it. Before the value is destroyed,
 *   the other library's work on it must be over, or the replica's stream must wait for that work.
 */
#ifndef MDIST_DLPACK_H
#define MDIST_DLPACK_H

#include <mdist/value.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** A tensor in one of the two layouts. The other pointer is NULL. */
typedef struct mdist_dlpack {
    struct DLManagedTensor *plain;              /* up to DLPack 0.8 */
    struct DLManagedTensorVersioned *versioned; /* 1.x: with a version in front */
} mdist_dlpack_t;

/**
 * Makes a plain value around the memory of the tensor in @p managed (kept, not copied).
 *
 * - The memory must not change as long as anything may read the value.
 * - On success the library owns the tensor. It calls the deleter once, when the last reference is dropped. Like a
 *   free_user_data, the deleter must not call the library, throw, or end its thread.
 * - On failure the tensor is still yours and unchanged.
 * - If the deleter is NULL, the tensor is not needed after the call. The memory must stay valid as for
 *   mdist_value_wrap.
 * - From a Python capsule: take the pointer, and on success rename the capsule to "used_dltensor", or
 *   "used_dltensor_versioned".
 * @thread any   @blocks no   @collective no
 * @calls-back the deleter, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_from_dlpack(const mdist_dlpack_t *managed, mdist_value_t **out,
                                                 mdist_error_t **error);

/**
 * Describes another library's dense tensor as a buffer, whatever the order of its strides.
 *
 * A tensor is dense if its elements fill its memory without gaps, for example PyTorch's channels_last or a transposed
 * matrix. The buffer has the elements in the order of memory. Collectives that work element by element take it:
 * mdist_all_reduce, mdist_reduce_to_root, mdist_broadcast, mdist_strategy_all_reduce. All replicas must have the same
 * order, else the call is MDIST_ERR_MISMATCH. Collectives that join or cut buffers refuse any order but row-major:
 * MDIST_ERR_INVALID_ARGUMENT.
 *
 * The tensor stays yours, and must keep the memory while the buffer is used. One that is not dense is
 * MDIST_ERR_UNSUPPORTED, reason `dlpack_strides`.
 * @param out  receives address, elements, type, and the order in `reserved`, which is 0 if it is row-major
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_buffer_from_dlpack(const mdist_dlpack_t *managed, mdist_buffer_t *out,
                                                  mdist_error_t **error);

/**
 * Exports tensor @p index of a value to another library, with its strides written out.
 *
 * - The memory is shared. It stays until that library calls the deleter of the tensor, from any thread, even if the
 *   value is destroyed before. Exception: memory given to mdist_value_wrap without free_user_data stays only as long as
 *   its owner keeps it.
 * - Only read the memory. Values never change. The layout with a version says so, the other one cannot.
 * @param max_major  the newest major version of DLPack that the other library reads, as for `max_version` of Python's
 *                   `__dlpack__`. From 1: the layout with a version, 1.0. 0: the plain one
 * @param out        receives the tensor in that layout, and NULL for the other one
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_to_dlpack(const mdist_value_t *value, size_t index, uint32_t max_major,
                                               mdist_dlpack_t *out, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
