/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Loop: calls a function for each element of an iterator, and collects outputs of that function and of the steps it
 * runs.
 *
 * Example, with an `iterator` of a dataset:
 *
 *     static int32_t train(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
 *         const mdist_run_io_t io = {.struct_size = sizeof io, .arguments = &element, .argument_count = 1};
 *         return mdist_run(strategy, step, loop, &io, NULL);
 *     }
 *     mdist_loop_t *loop = NULL;
 *     mdist_value_t *outputs = NULL;
 *     mdist_run_steps(strategy, iterator, 100, train, NULL, NULL, &loop, NULL, &error);
 *     mdist_loop_outputs(loop, &outputs, &error);
 *
 * Each step reads its part of the element, and calls mdist_replica_set_output(replica, loop, "loss", ...). After the
 * loop, outputs has the "loss" of the last element.
 *
 * An output has a path, as leaves of structures have (value.h), and an aggregation:
 * - With NONE, the output is kept as it was set.
 * - With any other aggregation it becomes a plain value: the sum or mean over all replicas of the job, or the part of
 *   replica 0.
 *
 * If an output is set more than once, the last one counts. Nothing is reduced before the loop is over; then all outputs
 * are reduced at once.
 *
 * With several workers, all of them run the loop together. They exchange a short message before each element. When one
 * of them has no more elements, the loop ends on all. (TensorFlow: run_steps_on_dataset and its MultiStepContext, which
 * is the loop here.)
 */
#ifndef MDIST_LOOP_H
#define MDIST_LOOP_H

#include <mdist/dataset.h>
#include <mdist/variable.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A loop. Its function uses it while the loop runs; afterwards it holds the outputs. */
typedef struct mdist_loop mdist_loop_t;

/**
 * Processes one element of a loop. It is called in cross-replica context, on the thread that called mdist_run_steps.
 *
 * @p element is one value, as from mdist_iterator_next_value, and is valid during the call only. The function may call
 * any function of cross-replica context. It returns 0 on success. Any other number fails the loop, and
 * mdist_error_native gives that number.
 */
typedef int32_t (*mdist_loop_fn)(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                 void *user_data);

/**
 * Calls @p function for the next @p iterations elements of @p iterator, one after another.
 *
 * If the elements run out before, the call returns MDIST_END. The elements done until then count, and @p out is set.
 * After MDIST_FOREVER it always returns MDIST_END.
 * - With several workers and a plain dataset, the first worker that runs out ends the loop. An element that the others
 *   have taken by then is lost.
 * - A distributed dataset ends on all workers in the same step.
 *
 * The first failure ends the loop on all workers, and also ends the job's collectives, as a failed run does. There are
 * no outputs then.
 * @param iterations  the same on all workers
 * @param iterator    of this strategy's distributed dataset, or of a plain dataset, whose elements all replicas see
 * @param initial     NULL, or a structure of plain values: the outputs before any was set. With a structure no other
 *                    outputs may be set, and each output keeps its dtype and shape.
 * @param options     timeout_ns applies to each wait for other workers
 * @thread one at a time per strategy   @blocks until the last element is done   @collective all workers
 * @calls-back function, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_steps(mdist_strategy_t *strategy, mdist_iterator_t *iterator, uint64_t iterations,
                                         mdist_loop_fn function, void *user_data, const mdist_value_t *initial,
                                         mdist_loop_t **out, const mdist_call_options_t *options,
                                         mdist_error_t **error);

/**
 * Sets the output at @p path from outside of steps.
 *
 * - The value may be of any kind. A structure sets its leaves as outputs below the path.
 * - With aggregation NONE the value is kept. Otherwise it is reduced when the loop is over, as mdist_strategy_reduce
 *   does. The same values are refused: a plain value has no sum.
 * - After the loop it fails with MDIST_ERR_FAILED_PRECONDITION, reason `loop_over`.
 *
 * (TensorFlow: MultiStepContext.set_last_step_output.)
 * @thread any, in cross-replica context   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_set_output(mdist_loop_t *loop, const char *path, const mdist_value_t *value,
                                               mdist_aggregation_t aggregation, mdist_error_t **error);

/**
 * Sets the output at @p path from inside a step: copies @p tensor as this replica's part.
 *
 * Every replica must set the same paths with the same aggregation. This is checked when the loop's function returns.
 * The call waits for no other replica. Errors:
 * - MDIST_ERR_INVALID_ARGUMENT: the aggregation is NONE, as in TensorFlow. To keep the parts, make them a result of the
 *   run, and call mdist_loop_set_output with that result.
 * - MDIST_ERR_UNSUPPORTED: the step belongs to an in-graph job. Make the parts a result of the run there, too.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_set_output(mdist_replica_t *replica, mdist_loop_t *loop, const char *path,
                                                  const mdist_tensor_t *tensor, mdist_aggregation_t aggregation,
                                                  mdist_error_t **error);

/**
 * Gives the outputs of a loop that is over, as a structure. It has no leaves if there are no outputs.
 *
 * Before the loop is over it fails with MDIST_ERR_FAILED_PRECONDITION, reason `loop_running`. (TensorFlow:
 * MultiStepContext.last_step_outputs.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_outputs(const mdist_loop_t *loop, mdist_value_t **out, mdist_error_t **error);

/**
 * Keeps a pointer under a name, one for each local replica. It is for outputs that are no tensors.
 *
 * If it is set more than once, the last pointer counts. The pointer is yours: the library never follows or frees it.
 * (TensorFlow: MultiStepContext.set_non_tensor_output.)
 * @param local_replica  the local replica that the pointer belongs to; in a step: mdist_replica_local_index
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_set_object(mdist_loop_t *loop, const char *name, uint32_t local_replica,
                                               void *object, mdist_error_t **error);

/**
 * Gives the pointer that was kept under a name. It may be called at any time.
 *
 * It fails with MDIST_ERR_NOT_FOUND if none was kept. (TensorFlow: MultiStepContext.non_tensor_outputs.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_object(const mdist_loop_t *loop, const char *name, uint32_t local_replica,
                                           void **out, mdist_error_t **error);

/**
 * Returns the number of elements that are done. In the loop's function it counts those before the current one. Returns
 * 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint64_t mdist_loop_iterations(const mdist_loop_t *loop);

/**
 * Frees a loop that is over. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_loop_destroy(mdist_loop_t *loop);

#ifdef __cplusplus
}
#endif

#endif
