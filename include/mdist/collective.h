/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Collectives: what replicas do together.
 *
 * In a step (functions that take a replica) every replica of the job makes the same call: same operation, same counts,
 * same dtypes, in the same order. That is checked before any byte moves; a difference is MDIST_ERR_MISMATCH on every
 * replica, with both sides in the message. (Those that come late to a step that has failed get MDIST_ERR_ABORTED; the
 * run returns the cause.) Several buffers in one call are one fused operation.
 * Outside of steps (with a strategy) values are reduced, copied and gathered; what fails on one worker ends it for all.
 *
 * Bits: a sum over N replicas follows one tree over replica ids, so that results do not depend on how replicas lie
 * on workers, on chunk sizes, or on the run: sum(lo, hi) is the leaf if there is one, else it splits at lo plus the
 * largest power of two below hi - lo. float16 and bfloat16 are summed in float32 and rounded once. MEAN is that sum,
 * then one division. A NaN comes out as the canonical quiet NaN. The caller's floating-point modes have no influence.
 *
 * Buffers: an output may be the input itself (in place), but not overlap it or another buffer in part, nor any buffer
 * of another replica (which is not checked in a step). No elements is fine. If a call fails after bytes have moved,
 * outputs hold no promise; nothing outside of them was written.
 *
 * GPUs: all buffers of a call in a step lie on the host, or all on the replica's GPU, alike on all replicas; anything
 * else is MDIST_ERR_INVALID_ARGUMENT or MDIST_ERR_MISMATCH. Buffers of no elements at address NULL go with the others,
 * and where all are like that they count as the GPU's. On the GPU a call returns when its work is on the stream
 * (<mdist/gpu.h>). Bits are as above, but where NCCL reduces: then they are those of its order, and 16-bit types are
 * summed in 16 bits on the way.
 */
#ifndef MDIST_COLLECTIVE_H
#define MDIST_COLLECTIVE_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mdist_reduce_op {
    MDIST_SUM                 = 1,
    MDIST_MEAN                = 2, /* not for integers, except in mdist_reduce over axes */
    MDIST_MIN                 = 3, /* NaN if any is NaN; -0 is below +0 */
    MDIST_MAX                 = 4,
    MDIST_PROD                = 5,
    MDIST_REDUCE_OP_PIN_INT32 = -0x7fffffff - 1
} mdist_reduce_op_t;

/**
 * Reduces buffer i of all replicas into every replica's output i (TensorFlow: ReplicaContext.all_reduce).
 * @param inputs   @p buffer_count buffers of any mix of dtypes
 * @param outputs  as many, equal in count and dtype; may be @p inputs itself
 * @thread replica   @blocks until every replica has called it and the result is there   @collective all replicas
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_reduce(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t *inputs,
                                          const mdist_buffer_t *outputs, size_t buffer_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Reduces rows (see mdist_value_rows) of all replicas: a sum is all of them, one after another in replica order; MEAN
 * divides them by the number of replicas. Rows of one index are not merged. Replicas may have different numbers of
 * rows, and none. Other operations are MDIST_ERR_UNSUPPORTED. (TensorFlow: ReplicaContext.all_reduce of IndexedSlices.)
 * @param indices  int64 [k]
 * @param values   [k, ...]: alike on all replicas but for k
 * @param out      receives a plain value of rows, yours, with the same content on every replica
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_reduce_rows(mdist_replica_t *replica, mdist_reduce_op_t op,
                                               const mdist_tensor_t *indices, const mdist_tensor_t *values,
                                               mdist_value_t **out, const mdist_call_options_t *options,
                                               mdist_error_t **error);

/**
 * Copies the buffers of replica @p root over those of all others.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_broadcast(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *buffers,
                                         size_t buffer_count, const mdist_call_options_t *options,
                                         mdist_error_t **error);

/**
 * Writes the inputs of all replicas one after another, in replica order, into every replica's output. Inputs may differ
 * in length from replica to replica; output i is as long as all inputs i together (gather the lengths first, one uint64
 * each, where they are not known). In place: the input is the part of the output where it belongs.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_gather(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                          const mdist_buffer_t *outputs, size_t buffer_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Reduces like mdist_all_reduce, but each replica receives its own part only: the parts lie in the input in replica
 * order, as long as each replica's output, which may differ. In place: the output is the part where it belongs.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce_scatter(mdist_replica_t *replica, mdist_reduce_op_t op,
                                              const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                              size_t buffer_count, const mdist_call_options_t *options,
                                              mdist_error_t **error);

/**
 * Cuts each input into as many equal parts as there are replicas; part j of replica i becomes part i of replica j.
 * Not in place.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_to_all(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                          const mdist_buffer_t *outputs, size_t buffer_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_all_reduce with a result for replica @p root alone: its outputs are as long as its inputs, and may be the same.
 * @param outputs  of other replicas are not looked at; may be NULL there
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce_to_root(mdist_replica_t *replica, mdist_reduce_op_t op, uint32_t root,
                                              const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                              size_t buffer_count, const mdist_call_options_t *options,
                                              mdist_error_t **error);

/**
 * mdist_all_gather with a result for replica @p root alone.
 * @param outputs  of other replicas are not looked at; may be NULL there
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gather_to_root(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *inputs,
                                              const mdist_buffer_t *outputs, size_t buffer_count,
                                              const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Gives each replica its part of the inputs of replica @p root. The parts lie there in replica order, as long as each
 * replica's output, which may differ. In place at the root: its output is its part.
 * @param inputs  of other replicas are not looked at; may be NULL there
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scatter(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *inputs,
                                       const mdist_buffer_t *outputs, size_t buffer_count,
                                       const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Returns when every replica has called it.
 * @thread replica   @blocks until then   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_barrier(mdist_replica_t *replica, const mdist_call_options_t *options,
                                       mdist_error_t **error);

/**
 * mdist_all_reduce for programs that go run, reduce, run: all local replicas' buffers in one call.
 * @param inputs   buffer b of local replica r at [r * buffer_count + b]
 * @param outputs  likewise; may be @p inputs itself
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_strategy_all_reduce(mdist_strategy_t *strategy, mdist_reduce_op_t op,
                                                   const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                                   size_t buffer_count, const mdist_call_options_t *options,
                                                   mdist_error_t **error);

/**
 * Reduces a value over replicas, and first over @p axes of each tensor if there are any, to a plain value in memory of
 * the host (TensorFlow: Strategy.reduce).
 *
 * Without axes: element by element; equal shapes. MEAN divides by the number of replicas. With axes (negative ones
 * count from the end): replicas may differ in length along them; MEAN divides by the true number of elements that went
 * in, as in the rows of a last batch that is not full; integers are summed
 * in 64 bits and give float64 then. Of no elements, MEAN is NaN, SUM 0,
 * PROD 1, and MIN and MAX are the type's largest and smallest (infinities for floating-point types).
 * Rows (mdist_value_rows) are reduced as by mdist_all_reduce_rows, and not over axes.
 * A plain value (once reduced over axes, if there are any) is given back by MEAN, MIN and MAX; by SUM too if all its
 * elements are 0; and by every operation if there is one replica. Else SUM and PROD are MDIST_ERR_INVALID_ARGUMENT, for
 * nobody could say what was meant. A mirrored value likewise without axes; with axes each replica's equal copy counts.
 * A structure is reduced leaf by leaf, without axes in one operation, and gives one with the same paths; all workers
 * must have the same, too.
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce(mdist_strategy_t *strategy, mdist_reduce_op_t op, const mdist_value_t *value,
                                      const int32_t *axes, size_t axis_count, mdist_value_t **out,
                                      const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Reduces a per-replica value to where @p destination says: NULL or "" for the devices it came from (a mirrored value,
 * so an all-reduce), else the name of one device of this strategy (a plain value there). Plain and mirrored values as
 * in mdist_reduce, and structures (TensorFlow: StrategyExtended.reduce_to).
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce_to(mdist_strategy_t *strategy, mdist_reduce_op_t op, const mdist_value_t *value,
                                         const char *destination, mdist_value_t **out,
                                         const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Many mdist_reduce_to in one: value i to destination i gives out i. All or none. What goes to the devices it came from
 * is one operation, however many values and leaves it is, and what goes to single devices another one; or they are
 * packs, if @p options or the config say so. Small results share memory, up to 4 MiB, which goes with the last of them.
 * @param destinations  NULL: all to the devices they came from
 * @thread one at a time per strategy   @blocks until the results are there   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_batch_reduce_to(mdist_strategy_t *strategy, mdist_reduce_op_t op,
                                               mdist_value_t *const *values, const char *const *destinations,
                                               size_t count, mdist_value_t **out, const mdist_call_options_t *options,
                                               mdist_error_t **error);

/**
 * A mirrored value with a copy of @p tensor on every local device (TensorFlow: broadcast_to). For structures there is
 * mdist_value_mirrored.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_broadcast_to(mdist_strategy_t *strategy, const mdist_tensor_t *tensor,
                                            mdist_value_t **out, mdist_error_t **error);

/**
 * Computes what is fetched where it lies, from what lies there: makes @p result, a plain value that it hands over, also
 * if it fails. Returns 0, or any other number to fail the call, which mdist_error_native then gives. May call any
 * function of cross-replica context.
 */
typedef int32_t (*mdist_fetch_fn)(const mdist_tensor_t *source, mdist_value_t **result, void *user_data);

/**
 * A plain value on the device named @p destination (NULL or "": in host memory) with the content of a plain or mirrored
 * value, or what @p fetch makes of it on the device where it lies, so that only that need travel (TensorFlow 1: fetch).
 * Of a mirrored value the copy at the destination is taken if there is one. A per-replica value is
 * MDIST_ERR_INVALID_ARGUMENT, for nobody could say which content was meant; variables go through mdist_variable_read.
 * @param fetch  NULL for the content itself
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back fetch, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_fetch(mdist_strategy_t *strategy, const mdist_value_t *value, const char *destination,
                                     mdist_fetch_fn fetch, void *user_data, mdist_value_t **out,
                                     mdist_error_t **error);

/**
 * Joins the replicas' tensors along @p axis in replica order, to a plain value in memory of the host (TensorFlow:
 * Strategy.gather). Lengths along the axis may differ; rank, dtype and the other dimensions must not. A plain or
 * mirrored value counts once per replica. A structure is gathered leaf by leaf. Rows are MDIST_ERR_UNSUPPORTED: their
 * sum joins them.
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gather(mdist_strategy_t *strategy, const mdist_value_t *value, int32_t axis,
                                      mdist_value_t **out, const mdist_call_options_t *options, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
