/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DLPack: tensors to and from other libraries (NumPy, PyTorch, JAX, CuPy ...) without copying.
 *
 * Both layouts of the exchange are taken and given: DLManagedTensor (up to DLPack 0.8) and DLManagedTensorVersioned
 * (from 1.0 on). They are declared here by name alone, as <dlpack/dlpack.h> defines them; include that, or your own
 * definition, to look inside. Tensors are dense, row-major, of up to MDIST_MAX_RANK dimensions, of one of the ten
 * element types (bfloat16 included), in memory that this build can reach. Anything else is refused with the reason.
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
 * Makes a plain value around the memory of @p managed, which is not copied and must not change as long as the value
 * lives. On success the library owns @p managed and calls its deleter with the last reference; on failure it is still
 * yours. MDIST_ERR_UNSUPPORTED says what does not fit: device, strides, element type or lanes, dimensions, version.
 * @thread any   @blocks no   @collective no
 * @calls-back the deleter, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_from_dlpack(struct DLManagedTensor *managed, mdist_value_t **out,
                                                 mdist_error_t **error);

/**
 * The same for the layout with a version in front.
 * @thread any   @blocks no   @collective no
 * @calls-back the deleter, on the thread that drops the last reference   @since 0.1
 */
MDIST_API mdist_status_t mdist_value_from_dlpack_versioned(struct DLManagedTensorVersioned *managed,
                                                           mdist_value_t **out, mdist_error_t **error);

/**
 * Describes tensor @p index of a value for another library. The memory is shared and stays until the deleter of @p out
 * is called, also when the value is destroyed before. Only read it: values never change, which this layout cannot say.
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
