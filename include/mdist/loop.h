/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Loop: a function called for each element of an iterator, and what it and the steps it runs put out.
 *
 *     int32_t train(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *model) {
 *         return mdist_run(strategy, step, ..., &element, 1, ...);
 *     }
 *     mdist_run_steps(strategy, iterator, 100, train, &model, NULL, &loop, NULL, &error);
 *     mdist_loop_outputs(loop, &outputs, &error);
 *
 * Each step reads its part of the element, and calls mdist_replica_set_output(replica, loop, "loss", ...); "loss" of
 * the last of them is in outputs.
 *
 * An output has a path, as leaves of structures have (value.h), and an aggregation: with NONE it is kept as it was set,
 * else it becomes a plain value, the sum or mean over all replicas of the job, or what replica 0 has. The last one
 * counts, and nothing is reduced before the loop is over: then all outputs are, at once. With several workers all loop
 * together: each element begins with a word among them, and when one of them has none the loop ends on all.
 * (TensorFlow: run_steps_on_dataset and its MultiStepContext, which is the loop here.)
 */
#ifndef MDIST_LOOP_H
#define MDIST_LOOP_H

#include <mdist/dataset.h>
#include <mdist/variable.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A loop under way, as its function sees it, and what came out of it once it is over. */
typedef struct mdist_loop mdist_loop_t;

/**
 * Called for each element, in cross-replica context, on the thread that called mdist_run_steps. @p element is one
 * value, as from mdist_iterator_next_value, and dies with the call. Returns 0, or any other number to fail the loop,
 * which mdist_error_native then gives. May call any function of cross-replica context.
 */
typedef int32_t (*mdist_loop_fn)(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                 void *user_data);

/**
 * Calls @p function for the next @p iterations elements of @p iterator, one after another. MDIST_END if they ran out
 * before, after MDIST_FOREVER always; what was done until then counts, and @p out is there, too. (With several workers
 * and a plain dataset, an element that others have is lost then; a distributed one ends on all in the same step.) The
 * first failure ends the loop, with several workers on all of them, and the job's collectives as a failed run does;
 * nothing comes out.
 * @param iterations  the same on all workers
 * @param iterator    of this strategy's distributed dataset, or of a plain one, whose elements all replicas see
 * @param initial     NULL, or a structure of plain values: outputs before any was set. Then no others may be set, and
 *                    each keeps its dtype and shape.
 * @param options     timeout_ns is for each wait for other workers
 * @thread one at a time per strategy   @blocks until the last element is done   @collective all workers
 * @calls-back function, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_steps(mdist_strategy_t *strategy, mdist_iterator_t *iterator, uint64_t iterations,
                                         mdist_loop_fn function, void *user_data, const mdist_value_t *initial,
                                         mdist_loop_t **out, const mdist_call_options_t *options,
                                         mdist_error_t **error);

/**
 * Sets the output at @p path from outside of steps: a value of any kind, kept (NONE), or reduced when the loop is over
 * as mdist_reduce does, and refused as there: a plain value has no sum over several replicas unless it is 0. A
 * structure puts out its leaves, below the path. Once the loop is over it is MDIST_ERR_FAILED_PRECONDITION, reason
 * `loop_over`.
 * (TensorFlow: MultiStepContext.set_last_step_output.)
 * @thread any, in cross-replica context   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_set_output(mdist_loop_t *loop, const char *path, const mdist_value_t *value,
                                               mdist_aggregation_t aggregation, mdist_error_t **error);

/**
 * Sets it from inside a step: this replica's part, a copy of @p tensor. Every replica sets the same paths with the
 * same aggregation, which is checked when the loop's function returns. Nobody waits. NONE is
 * MDIST_ERR_INVALID_ARGUMENT, as in TensorFlow: to keep the parts, make them a result of the run, and
 * mdist_loop_set_output with that. So it is in a step of an in-graph job (MDIST_ERR_UNSUPPORTED).
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_set_output(mdist_replica_t *replica, mdist_loop_t *loop, const char *path,
                                                  const mdist_tensor_t *tensor, mdist_aggregation_t aggregation,
                                                  mdist_error_t **error);

/**
 * The outputs of a loop that is over, as a structure; without leaves if there is none. Before that it is
 * MDIST_ERR_FAILED_PRECONDITION, reason `loop_running`. (TensorFlow: MultiStepContext.last_step_outputs.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_outputs(const mdist_loop_t *loop, mdist_value_t **out, mdist_error_t **error);

/**
 * Keeps a pointer under a name, one for each local replica: what is no tensor. The last one counts. It is yours: never
 * looked at, never freed. (TensorFlow: MultiStepContext.set_non_tensor_output.)
 * @param local_replica  whose it is: in a step mdist_replica_local_index
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_set_object(mdist_loop_t *loop, const char *name, uint32_t local_replica,
                                               void *object, mdist_error_t **error);

/**
 * The pointer that was kept, at any time; MDIST_ERR_NOT_FOUND if none was. (TensorFlow:
 * MultiStepContext.non_tensor_outputs.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_loop_object(const mdist_loop_t *loop, const char *name, uint32_t local_replica,
                                           void **out, mdist_error_t **error);

/**
 * Elements that are done; in the loop's function those before this one. 0 for a bad handle.
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
