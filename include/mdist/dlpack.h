/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DLPack: tensors to and from other libraries (NumPy, PyTorch, JAX, CuPy ...) without copying.
 *
 * Both layouts of the exchange are taken and given: DLManagedTensor (up to DLPack 0.8) and DLManagedTensorVersioned
 * (1.x). They are declared here by name alone, as <dlpack/dlpack.h> defines them; include that, or your own definition,
 * to look inside. Anything but the following is MDIST_ERR_UNSUPPORTED, with the reason in brackets:
 *
 * - memory of the host, also page-locked by CUDA: device types 1 and 3; and of CUDA's GPUs, type 2 (`dlpack_device`)
 * - one of the ten element types, bfloat16 included, in one lane (`dlpack_dtype`)
 * - up to MDIST_MAX_RANK dimensions (`dlpack_rank`)
 * - dense and row-major: strides NULL, or those of such a tensor; any will do for dimensions of size 1, and if there
 *   are no elements (`dlpack_strides`)
 * - major version 1, where there is a version (`dlpack_version`)
 *
 * Memory of a GPU is exchanged as it is, and nothing is waited for: that is for whoever calls, as for Python's
 * `__dlpack__(stream)`. What comes in must be there when the library next uses it: before mdist_run, or in a step on
 * the replica's stream (mdist_replica_stream). What goes out of a value is there, since values are when they are
 * handed out; work of another library's stream must be over, or the replica's stream wait for it, before the value is
 * destroyed.
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
 * Makes a plain value around the memory of @p managed (kept, not copied), which must not change as long as anything may
 * read the value. On success the library owns @p managed and calls its deleter once, with the last reference; as a
 * free_user_data it must not call the library, throw, or end its thread. On failure @p managed is still yours and as it
 * was. With NULL for a deleter, @p managed is not needed after the call, and the memory as long as with
 * mdist_value_wrap. From a Python capsule: take the pointer, and on success rename the capsule to "used_dltensor".
 * @thread any   @blocks no   @collective no
 * @calls-back the deleter, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_from_dlpack(struct DLManagedTensor *managed, mdist_value_t **out,
                                                 mdist_error_t **error);

/**
 * The same for the layout with a version in front (in Python "used_dltensor_versioned").
 * @thread any   @blocks no   @collective no
 * @calls-back the deleter, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_from_dlpack_versioned(struct DLManagedTensorVersioned *managed,
                                                           mdist_value_t **out, mdist_error_t **error);

/**
 * Describes tensor @p index of a value for another library, with its strides written out. The memory is shared and
 * stays until that library calls the deleter of @p out, from any thread, also when the value is destroyed before. (What
 * mdist_value_wrap was given without free_user_data stays as long as its owner lets it.) Only read it: values never
 * change, which this layout cannot say.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_to_dlpack(const mdist_value_t *value, size_t index, struct DLManagedTensor **out,
                                               mdist_error_t **error);

/**
 * The same in the layout with a version in front (1.0), marked as read-only.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_to_dlpack_versioned(const mdist_value_t *value, size_t index,
                                                         struct DLManagedTensorVersioned **out,
                                                         mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
