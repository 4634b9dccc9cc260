/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory from the library: for buffers that outlive a call in languages whose own memory moves or is collected, and
 * memory that the workers of one host share.
 */
#ifndef MDIST_MEMORY_H
#define MDIST_MEMORY_H

#include <mdist/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Memory on the device of a local replica, 64-byte aligned and filled with zeros. Yours until mdist_free, also when
 * the strategy goes. Of a GPU, its memory: mdist_tensor_copy reaches it, and mdist_free may come while the replica's
 * stream is still to use it. On the CPU, in a job whose workers are all on one host, reductions of such memory (as of
 * variables) need no copies on the way from worker to worker. (In a child that is forked off, such memory is its
 * parent's own: it must not write there.)
 * @param strategy  NULL: memory of the host; @p local_replica must be 0 then
 * @param bytes     may be 0: an address that is not NULL, with nothing behind it
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_alloc(mdist_strategy_t *strategy, uint32_t local_replica, size_t bytes, void **out,
                                     mdist_error_t **error);

/**
 * Gives memory of mdist_alloc back, when no call, started collective, value or dataset uses it any more. NULL, and what
 * is not given out, is ignored (but an address given back may be given out again). Fits mdist_free_fn: give it, with
 * the memory as user_data, to functions that keep memory, and the library frees it without a call into your language.
 * (Several arrays of one dataset then lie in one such memory.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif
