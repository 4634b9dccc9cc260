/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Operator: a reduction of your own, for elements of any size.
 *
 * Example, in a step, where `take_larger` is yours:
 *
 *     mdist_reduce_op_t largest = 0;
 *     mdist_operator_register("largest", 2 * sizeof(float), take_larger, NULL, &largest, NULL);
 *     float pair[2] = {(float)mdist_replica_id(replica), 7};
 *     const mdist_buffer_t buffer = {pair, 2, MDIST_FLOAT32, 0};
 *     mdist_all_reduce(replica, largest, &buffer, &buffer, 1, NULL, NULL);
 *     mdist_operator_unregister(largest);
 *     assert(pair[0] == 1); // with take_larger() keeping the pair whose first number is larger
 *
 * An operator is a number, like MDIST_SUM, and is passed in its place. It works in mdist_all_reduce,
 * mdist_reduce_scatter, mdist_reduce_to_root, mdist_collective_start, mdist_prepared_create, and
 * mdist_strategy_all_reduce. Elsewhere it is MDIST_ERR_INVALID_ARGUMENT. (MPI: MPI_Op_create.)
 *
 * - The function need be neither associative nor commutative. It is always applied along the tree of
 *   <mdist/collective.h>, "Bits of the result": left holds lower replica ids than right. So results have the same bits
 *   however replicas are spread over workers.
 * - Buffers may have any type, since the library looks at bytes only. Each buffer must be a whole number of elements
 *   long, and so must each part of mdist_reduce_scatter.
 * - All replicas must use operators of the same name and element size. The library compares both before any byte moves.
 *   It cannot compare functions: they must do the same.
 * - With one replica the result is that replica's input, and the function is not called.
 * - Buffers may lie on the replicas' GPUs. The library copies them to the host, applies the function there, and copies
 *   the results back. It waits for the replicas' streams, also in a started form: in the start, or where it is waited
 *   for. In mdist_replica_graph such a call is MDIST_ERR_WRONG_CONTEXT.
 */
#ifndef MDIST_OPERATOR_H
#define MDIST_OPERATOR_H

#include <mdist/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The largest element of an operator, in bytes. */
#define MDIST_OPERATOR_MAX_BYTES 0x3fffffff

/**
 * Combines @p count pairs of elements: out[i] = left[i] op right[i].
 *
 * - The three arrays do not overlap. Each begins at a multiple of the largest power of two that divides the element
 *   size, up to 64.
 * - It runs on any thread that is in a collective, or on one of the library, and on several at the same time, for
 *   different elements. Rounding is to nearest there.
 * - It must not call the library, except mdist_fail, wait for another replica, or leave by longjmp.
 * - While it runs for a started form, other calls about works of the same replica wait until it returns. So it must not
 *   wait for a thread that makes such a call.
 * - It returns 0, or any other number to fail the call with MDIST_ERR_CALLBACK; mdist_error_native then gives the
 *   number. An exception has the same effect.
 * - If it fails and there is one worker, the call fails on all replicas. A small call may fail only on those replicas
 *   for which the function failed.
 * - If it fails and there are several workers, the job ends. The other workers get the message, most of them with
 *   MDIST_ERR_ABORTED.
 */
typedef int32_t (*mdist_combine_fn)(const void *left, const void *right, void *out, uint64_t count, void *user_data);

/**
 * Registers an operator in this process.
 *
 * @param name           the same on all replicas; 1 to 64 printable ASCII characters. Workers show it in messages.
 * @param element_bytes  1 to MDIST_OPERATOR_MAX_BYTES
 * @param user_data      passed to @p combine; must last until all calls and works with the operator have ended
 * @param out            receives a number, for use until mdist_operator_unregister
 * @thread any   @blocks no   @collective no   @calls-back combine, in later calls, as its type says   @since 0.2
 */
MDIST_API mdist_status_t mdist_operator_register(const char *name, size_t element_bytes, mdist_combine_fn combine,
                                               void *user_data, mdist_reduce_op_t *out, mdist_error_t **error);

/**
 * Ends the use of an operator's number.
 *
 * Works that were started with it go on, and prepared calls keep it. A number that is no operator is ignored.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API void mdist_operator_unregister(mdist_reduce_op_t op);

#ifdef __cplusplus
}
#endif

#endif
