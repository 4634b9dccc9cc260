/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory: buffers that the library allocates.
 *
 * Example:
 *
 *     void *memory = NULL;
 *     mdist_value_t *value = NULL;
 *     mdist_alloc(NULL, 0, 6 * sizeof(float), &memory, &error);
 *     mdist_tensor_t tensor = {memory, MDIST_FLOAT32, 1, MDIST_DEVICE_CPU, 0, {6}};
 *     mdist_value_wrap(&tensor, memory, mdist_free, &value, &error); // no copy; the value frees the memory
 *     mdist_value_destroy(value);
 *
 * Such a buffer does not move, so it can outlive a call in languages whose own memory moves or is collected. Workers on
 * one host share it.
 */
#ifndef MDIST_MEMORY_H
#define MDIST_MEMORY_H

#include <mdist/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates memory on the device of a local replica, 64-byte aligned and filled with zeros.
 *
 * - You own it until mdist_free, even after the strategy is destroyed.
 * - For a GPU replica it is GPU memory: use mdist_tensor_copy to reach it. You may call mdist_free while work on the
 *   replica's stream still uses it.
 * - On the CPU, if all workers of the job are on one host, reductions of such memory (and of variables) make no copies
 *   between workers.
 * - After fork() such memory still belongs to the parent. The child must not write there.
 * @param strategy  NULL: host memory; @p local_replica must be 0 then
 * @param bytes     may be 0: gives an address that is not NULL, with no memory behind it
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_alloc(mdist_strategy_t *strategy, uint32_t local_replica, size_t bytes, void **out,
                                     mdist_error_t **error);

/**
 * Frees memory of mdist_alloc.
 *
 * No call, started collective, value or dataset may use it any more. NULL, and an address that is not allocated, is
 * ignored. (A freed address may be allocated again.)
 *
 * It works as a mdist_free_fn. Pass it, with the memory as user_data, to functions that keep memory. The library then
 * frees the memory without a call into your language. (If a dataset has several arrays, they must then lie in one
 * allocation.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
