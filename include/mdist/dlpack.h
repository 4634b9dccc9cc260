/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DLPack: exchanges tensors with other libraries (NumPy, PyTorch, JAX, CuPy ...) without copying.
 *
 * Example, with a tensor `numbers`:
 *
 *     mdist_value_t *ours = NULL, *theirs = NULL;
 *     struct DLManagedTensor *managed = NULL;
 *     mdist_value_create(&numbers, &ours, &error);
 *     mdist_value_to_dlpack(ours, 0, &managed, &error);  // a pointer for NumPy, PyTorch ...
 *     mdist_value_from_dlpack(managed, &theirs, &error); // a pointer from them; here the same memory comes back
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

/**
 * Makes a plain value around the memory of @p managed (kept, not copied).
 *
 * - The memory must not change as long as anything may read the value.
 * - On success the library owns @p managed. It calls the deleter once, when the last reference is dropped. Like a
 *   free_user_data, the deleter must not call the library, throw, or end its thread.
 * - On failure @p managed is still yours and unchanged.
 * - If the deleter is NULL, @p managed is not needed after the call. The memory must stay valid as for
 *   mdist_value_wrap.
 * - From a Python capsule: take the pointer, and on success rename the capsule to "used_dltensor".
 * @thread any   @blocks no   @collective no
 * @calls-back the deleter, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_from_dlpack(struct DLManagedTensor *managed, mdist_value_t **out,
                                                 mdist_error_t **error);

/**
 * Makes a plain value as mdist_value_from_dlpack does, from the layout with a version in front. In Python, rename the
 * capsule to "used_dltensor_versioned".
 * @thread any   @blocks no   @collective no
 * @calls-back the deleter, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_from_dlpack_versioned(struct DLManagedTensorVersioned *managed,
                                                           mdist_value_t **out, mdist_error_t **error);

/**
 * Describes another library's dense tensor as a buffer, whatever the order of its strides.
 *
 * A tensor is dense if its elements fill its memory without gaps, for example PyTorch's channels_last or a transposed
 * matrix. The buffer has the elements in the order of memory. Collectives that work element by element take it:
 * mdist_all_reduce, mdist_reduce_to_root, mdist_broadcast, mdist_strategy_all_reduce. All replicas must have the same
 * order, else the call is MDIST_ERR_MISMATCH. Collectives that join or cut buffers refuse any order but row-major:
 * MDIST_ERR_INVALID_ARGUMENT.
 *
 * @p managed stays yours, and must keep the memory while the buffer is used. A tensor that is not dense is
 * MDIST_ERR_UNSUPPORTED, reason `dlpack_strides`.
 * @param out  receives address, elements, type, and the order in `reserved`, which is 0 if it is row-major
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_buffer_from_dlpack(const struct DLManagedTensor *managed, mdist_buffer_t *out,
                                                  mdist_error_t **error);

/**
 * Does what mdist_buffer_from_dlpack does, for the layout with a version in front.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_buffer_from_dlpack_versioned(const struct DLManagedTensorVersioned *managed,
                                                            mdist_buffer_t *out, mdist_error_t **error);

/**
 * Exports tensor @p index of a value to another library, with its strides written out.
 *
 * - The memory is shared. It stays until that library calls the deleter of @p out, from any thread, even if the value
 *   is destroyed before. Exception: memory given to mdist_value_wrap without free_user_data stays only as long as its
 *   owner keeps it.
 * - Only read the memory. Values never change, but this layout cannot say so.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_to_dlpack(const mdist_value_t *value, size_t index, struct DLManagedTensor **out,
                                               mdist_error_t **error);

/**
 * Exports a tensor as mdist_value_to_dlpack does, in the layout with a version in front (1.0). It is marked as
 * read-only.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_to_dlpack_versioned(const mdist_value_t *value, size_t index,
                                                         struct DLManagedTensorVersioned **out, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
