/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Collectives: operations in which all replicas exchange data, such as all-reduce, broadcast and gather.
 *
 * Example, in a step:
 *
 *     float x = (float)(mdist_replica_id(replica) + 1); // 1 on replica 0, 2 on replica 1
 *     const mdist_buffer_t buffer = {&x, 1, MDIST_FLOAT32, 0};
 *     mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
 *     assert(x == 3);                                   // on both
 *
 * Collectives in a step take a replica. Every replica of the job makes the same calls, in the same order, with the same
 * operation, counts and dtypes.
 * - The library compares the calls before any byte moves. A difference is MDIST_ERR_MISMATCH on every replica; the
 *   message shows both sides. (Replicas that come late to a failed step get MDIST_ERR_ABORTED. The run returns the
 *   cause.)
 * - Several buffers in one call are one fused operation.
 *
 * Functions outside of steps take a strategy. They reduce, copy and gather values. A failure on one worker ends the
 * call on all workers.
 *
 * Bits of the result
 * - A sum over N replicas follows one fixed tree over replica ids. So results are the same in every run, for every
 *   chunk size, and however replicas are spread over workers.
 * - sum(lo, hi) takes replicas lo to hi - 1. With one replica it is that replica's element. Else it splits at lo plus
 *   the largest power of two below hi - lo. Five replicas give ((0 + 1) + (2 + 3)) + 4.
 * - float16 and bfloat16 are summed in float32 and rounded once. MEAN is that sum, then one division.
 * - bool takes AND, OR and XOR, and MIN and MAX, which are AND and OR there. SUM, MEAN and PROD of bool are
 *   MDIST_ERR_INVALID_ARGUMENT: reduce a wider integer to count. A byte that is neither 0 nor 1 counts as true, and
 *   every result of a reduction is 0 or 1. Collectives that only copy keep the byte.
 * - A NaN comes out as the canonical quiet NaN. The caller's floating-point modes have no effect.
 * - If NCCL reduces, the bits are those of its order, and 16-bit types are summed in 16 bits on the way.
 *
 * Buffers
 * - An output may be its own input (in place). Otherwise it must not overlap that input, another buffer, or a buffer of
 *   another replica, not even in part. (In a step, overlap with another replica's buffers is not checked.)
 * - A buffer may have no elements.
 * - If a call fails after bytes have moved, the content of the outputs is undefined. Nothing outside of them was
 *   written.
 *
 * GPUs
 * - In a step, all buffers of a call lie on the host, or all lie on the replica's GPU, the same on all replicas. Else
 *   the call is MDIST_ERR_INVALID_ARGUMENT or MDIST_ERR_MISMATCH.
 * - A buffer with no elements and address NULL fits either kind. A call with only such buffers counts as one on the
 *   GPU.
 * - On the GPU a call returns when its work is on the stream (<mdist/gpu.h>).
 */
#ifndef MDIST_COLLECTIVE_H
#define MDIST_COLLECTIVE_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mdist_reduce_op {
    MDIST_SUM                 = 1,
    MDIST_MEAN                = 2, /* not for integers, except in mdist_strategy_reduce_axes */
    MDIST_MIN                 = 3, /* NaN if any element is NaN; -0 is below +0 */
    MDIST_MAX                 = 4,
    MDIST_PROD                = 5,
    MDIST_AND                 = 6, /* AND, OR and XOR: bit by bit for integers, logical for bool, not for others */
    MDIST_OR                  = 7,
    MDIST_XOR                 = 8,
    MDIST_REDUCE_OP_PIN_INT32 = -0x7fffffff - 1
} mdist_reduce_op_t;

/**
 * Reduces buffer i of all replicas and writes the result to output i of every replica.
 *
 * (TensorFlow: ReplicaContext.all_reduce.)
 * @param inputs   @p buffer_count buffers of any mix of dtypes
 * @param outputs  as many, equal in count and dtype; may be @p inputs itself
 * @thread replica   @blocks until every replica has called it and the result is there   @collective all replicas
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_reduce(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t *inputs,
                                          const mdist_buffer_t *outputs, size_t buffer_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Reduces rows (see mdist_value_sparse) of all replicas.
 *
 * - SUM joins the rows of all replicas in replica order. It does not merge rows of the same index.
 * - MEAN does the same and divides the rows by the number of replicas.
 * - Any other operation is MDIST_ERR_UNSUPPORTED.
 *
 * Replicas may have different numbers of rows, or none. (TensorFlow: ReplicaContext.all_reduce of IndexedSlices.)
 * @param indices  int64 [k]
 * @param values   [k, ...]: the same shape on all replicas, except for k
 * @param out      receives a plain value of rows, which you own, with the same content on every replica
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_reduce_sparse(mdist_replica_t *replica, mdist_reduce_op_t op,
                                                 const mdist_tensor_t *indices, const mdist_tensor_t *values,
                                                 mdist_value_t **out, const mdist_call_options_t *options,
                                                 mdist_error_t **error);

/**
 * Copies the buffers of replica @p root over those of all other replicas.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_broadcast(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *buffers,
                                         size_t buffer_count, const mdist_call_options_t *options,
                                         mdist_error_t **error);

/**
 * Joins the inputs of all replicas in replica order and writes the result to every replica's output.
 *
 * Inputs may have different lengths on different replicas. Output i is as long as all inputs i together. If you do not
 * know the lengths, gather them first, as one uint64 each. To work in place, pass as input this replica's part of the
 * output.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_gather(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                          const mdist_buffer_t *outputs, size_t buffer_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Reduces like mdist_all_reduce, but gives each replica only its own part of the result.
 *
 * The parts lie in the input in replica order. Each part is as long as that replica's output; these lengths may differ.
 * To work in place, pass as output this replica's part of the input.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce_scatter(mdist_replica_t *replica, mdist_reduce_op_t op,
                                              const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                              size_t buffer_count, const mdist_call_options_t *options,
                                              mdist_error_t **error);

/**
 * Cuts each input into as many equal parts as there are replicas; part j of replica i becomes part i of replica j.
 *
 * It does not work in place.
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_to_all(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                          const mdist_buffer_t *outputs, size_t buffer_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * All-to-all with parts of any lengths (MPI: Alltoallv); part j of replica i becomes part i of replica j.
 *
 * - The parts of a buffer lie end to end, in the order of the replicas. Some may be empty.
 * - Each replica says how long its own parts are, both those that it sends and those that it receives.
 * - If sender and receiver of a part give different lengths, the call is MDIST_ERR_MISMATCH on all replicas. The
 *   message names both replicas and their lengths.
 * - If you do not know the lengths that the others send, exchange them first: call mdist_all_to_all with one uint64 for
 *   each replica.
 * - It does not work in place.
 * @param input_parts   elements that go from input b to replica j at [b * n + j], if the job has n replicas. The parts
 *                      of an input add up to its elements.
 * @param output_parts  elements that come from replica j into output b at [b * n + j]
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_all_to_all_parts(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                                const uint64_t *input_parts, const mdist_buffer_t *outputs,
                                                const uint64_t *output_parts, size_t buffer_count,
                                                const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Reduces like mdist_all_reduce, but gives the result to replica @p root only.
 *
 * The outputs of the root are as long as its inputs, and may be the same memory.
 * @param outputs  used on replica @p root only; may be NULL on the others
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce_to_root(mdist_replica_t *replica, mdist_reduce_op_t op, uint32_t root,
                                              const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                              size_t buffer_count, const mdist_call_options_t *options,
                                              mdist_error_t **error);

/**
 * Gathers like mdist_all_gather, but gives the result to replica @p root only.
 * @param outputs  used on replica @p root only; may be NULL on the others
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gather_to_root(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *inputs,
                                              const mdist_buffer_t *outputs, size_t buffer_count,
                                              const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Gives each replica its part of the inputs of replica @p root.
 *
 * The parts lie in the root's input in replica order. Each part is as long as that replica's output; these lengths may
 * differ. The root may work in place: its output is then its part of the input.
 * @param inputs  used on replica @p root only; may be NULL on the others
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

/** The collectives that can be described. Each has the name of its function. */
typedef enum mdist_collective_kind {
    MDIST_COLLECTIVE_ALL_REDUCE       = 1,
    MDIST_COLLECTIVE_BROADCAST        = 2,
    MDIST_COLLECTIVE_ALL_GATHER       = 3,
    MDIST_COLLECTIVE_REDUCE_SCATTER   = 4,
    MDIST_COLLECTIVE_ALL_TO_ALL       = 5,
    MDIST_COLLECTIVE_ALL_TO_ALL_PARTS = 6,
    MDIST_COLLECTIVE_REDUCE_TO_ROOT   = 7,
    MDIST_COLLECTIVE_GATHER_TO_ROOT   = 8,
    MDIST_COLLECTIVE_SCATTER          = 9,
    MDIST_COLLECTIVE_BARRIER          = 10,
    MDIST_COLLECTIVE_PIN_INT32        = -0x7fffffff - 1
} mdist_collective_kind_t;

/**
 * A collective as a struct, to start it (<mdist/work.h>) or to prepare it (<mdist/prepared.h>).
 *
 * The fields are the arguments of the collective's function. The library copies the arrays, not the memory of the
 * buffers. A field that the collective does not use must be 0, else the call is MDIST_ERR_INVALID_ARGUMENT. A group
 * stands in the options, as in all calls.
 */
typedef struct mdist_collective_description {
    uint32_t struct_size;         /* sizeof(mdist_collective_description_t) as you were compiled */
    int32_t kind;                 /* mdist_collective_kind_t */
    int32_t op;                   /* mdist_reduce_op_t or an operator, if it reduces */
    uint32_t root;                /* if it has one */
    const mdist_buffer_t *inputs; /* of a broadcast: the buffers */
    const mdist_buffer_t *outputs;
    size_t buffer_count;
    const uint64_t *input_parts; /* MDIST_COLLECTIVE_ALL_TO_ALL_PARTS only */
    const uint64_t *output_parts;
} mdist_collective_description_t;

/**
 * Reduces all local replicas' buffers in one call, outside of steps.
 *
 * It does what mdist_all_reduce does, for programs that alternate between running and reducing.
 *
 * Several workers: a call that this worker refuses returns when the others have come to it. If all refuse it, each gets
 * its own error, and the job goes on. Otherwise the job ends, for the reason of the worker that refused. So it is with
 * mdist_strategy_reduce, mdist_strategy_reduce_axes, mdist_strategy_reduce_to, mdist_strategy_gather,
 * mdist_variable_create and mdist_group_create.
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
 * Reduces a value over replicas, element by element, to a plain value in host memory (TensorFlow: Strategy.reduce).
 *
 * Shapes must be equal. MEAN divides by the number of replicas.
 *
 * Kinds of values
 * - Per-replica value: the replicas' tensors are reduced.
 * - Plain and mirrored values: MEAN, MIN, MAX, AND and OR give them back. SUM, PROD and XOR are
 *   MDIST_ERR_INVALID_ARGUMENT, in every layout and whatever the elements. (TensorFlow allows a SUM of zeros, of one
 *   replica, and of one replica on each of several workers.)
 * - Rows (mdist_value_sparse): as in mdist_all_reduce_sparse.
 * - Structure: the library reduces it leaf by leaf, in one operation. The result has the same paths. All workers must
 *   have the same paths, too.
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers
 * @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_strategy_reduce(mdist_strategy_t *strategy, mdist_reduce_op_t op,
                                               const mdist_value_t *value, mdist_value_t **out,
                                               const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Reduces each tensor over @p axes, and then over replicas, to a plain value in host memory (TensorFlow:
 * Strategy.reduce with an axis).
 *
 * Negative axes count from the end. Without axes it does what mdist_strategy_reduce does.
 * - Replicas may have different lengths along the axes. MEAN divides by the true number of elements, so a last batch
 *   that is not full counts correctly.
 * - Integers are summed in 64 bits. Their MEAN is float64.
 * - Over no elements, MEAN is NaN, SUM, OR and XOR are 0, PROD is 1, and AND has all bits set (true for bool). MIN is
 *   the largest number of the type and MAX the smallest (infinities for floating-point types).
 *
 * Plain values and structures work as in mdist_strategy_reduce. Of a mirrored value each replica's equal copy counts.
 * Rows cannot be reduced over axes.
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers
 * @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_strategy_reduce_axes(mdist_strategy_t *strategy, mdist_reduce_op_t op,
                                                    const mdist_value_t *value, const int32_t *axes, size_t axis_count,
                                                    mdist_value_t **out, const mdist_call_options_t *options,
                                                    mdist_error_t **error);

/**
 * Reduces per-replica values to devices: value i goes to destination i and gives out i.
 *
 * - Plain and mirrored values, and structures, work as in mdist_strategy_reduce.
 * - Either all reductions succeed, or none.
 * - All values that go to the devices they came from are one operation, however many values and leaves there are. All
 *   values that go to single devices are another one. @p options or the config can cut both into packs.
 * - Small results share memory, up to 4 MiB. That memory is freed with the last of them.
 *
 * (TensorFlow: StrategyExtended.reduce_to and batch_reduce_to.)
 * @param destinations  NULL: each value goes to the devices it came from. Else one for each value. NULL or "": the
 *                      devices that the value came from; the result is mirrored, so this is an all-reduce. Else the
 *                      name of one device of this strategy; the result is a plain value there.
 * @thread one at a time per strategy   @blocks until the results are there   @collective all workers
 * @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_strategy_reduce_to(mdist_strategy_t *strategy, mdist_reduce_op_t op,
                                                  mdist_value_t *const *values, const char *const *destinations,
                                                  size_t count, mdist_value_t **out,
                                                  const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Makes a mirrored value with a copy of @p tensor on every local device.
 *
 * (TensorFlow: broadcast_to.) For structures use mdist_value_mirrored.
 * @thread one at a time per strategy   @blocks for the copies, on GPUs   @collective no
 * @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_strategy_broadcast(mdist_strategy_t *strategy, const mdist_tensor_t *tensor,
                                                  mdist_value_t **out, mdist_error_t **error);

/**
 * Computes a result from a tensor, on the device where the tensor lies.
 *
 * It sets @p result to a plain value that it makes and hands over, even if it fails. It returns 0, or any other number
 * to fail the call; mdist_error_native then gives the number. It may call any function of cross-replica context.
 */
typedef int32_t (*mdist_fetch_fn)(const mdist_tensor_t *source, mdist_value_t **result, void *user_data);

/**
 * Copies the content of a plain or mirrored value to the device named @p destination, as a plain value.
 *
 * With @p fetch, the library calls it on the device where the value lies, and copies only its result. (TensorFlow 1:
 * fetch.) For a mirrored value the library takes the copy at the destination, if there is one.
 *
 * A per-replica value is MDIST_ERR_INVALID_ARGUMENT, because its replicas have different contents. For variables use
 * mdist_variable_read.
 * @param destination  NULL or "": host memory
 * @param fetch        NULL: the content itself
 * @thread one at a time per strategy   @blocks for @p fetch and the copy   @collective no
 * @calls-back fetch, on this thread   @since 0.2
 */
MDIST_API mdist_status_t mdist_strategy_fetch(mdist_strategy_t *strategy, const mdist_value_t *value,
                                              const char *destination, mdist_fetch_fn fetch, void *user_data,
                                              mdist_value_t **out, mdist_error_t **error);

/**
 * Joins the replicas' tensors along @p axis, in replica order, to a plain value in host memory.
 *
 * - Lengths along the axis may differ. Rank, dtype and the other dimensions must be the same.
 * - A plain or mirrored value counts once per replica.
 * - A structure is gathered leaf by leaf.
 * - Rows are MDIST_ERR_UNSUPPORTED: reduce them with SUM, which joins them.
 *
 * (TensorFlow: Strategy.gather.)
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers
 * @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_strategy_gather(mdist_strategy_t *strategy, const mdist_value_t *value, int32_t axis,
                                               mdist_value_t **out, const mdist_call_options_t *options,
                                               mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
