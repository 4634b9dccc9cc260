/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Serve: one program leads the replicas of all workers (in-graph).
 *
 * With the configuration `strategy: in_graph`, worker 0 is the client: it alone runs the program's main part, and what
 * it does goes for the replicas of all workers. The others serve. All run the same program:
 *
 *     mdist_strategy_create(config, &strategy, &error);
 *     mdist_step_register(strategy, "train", train, NULL, &error);             on every worker, the same names
 *     if (mdist_strategy_worker(strategy) != 0) {
 *         mdist_serve(strategy, NULL, &error);                                 until the client is done
 *     } else {
 *         mdist_variable_create(strategy, "weights", &initial, &weights, NULL, &error);
 *         mdist_run_named(strategy, "train", &batch, 1, &loss, 1, NULL, &error);
 *         mdist_reduce(strategy, MDIST_MEAN, loss, NULL, 0, &mean, NULL, &error);
 *     }
 *     mdist_strategy_destroy(strategy);                                        on the client: ends the others' serving
 *
 * Outside of steps all replicas of the job are the client's local replicas: mdist_strategy_local_replica_count counts
 * them, mdist_strategy_device names their devices ("cpu:0", "worker:1/cpu:0"), values have a tensor for each, and
 * mdist_distribute_dataset cuts batches for all. Reductions and gathers of values therefore ask nobody. Variables are
 * created, assigned and read on all workers, and checkpoints saved and restored. In a step, in its merges and in an
 * update, a worker has its own replicas again, and all functions work as in any job of several workers; collectives go
 * over all replicas.
 * What the client cannot have done elsewhere is MDIST_ERR_UNSUPPORTED, reason `in_graph`, and the message says what to
 * do: functions that take a function of yours (mdist_run, mdist_map, mdist_update, mdist_update_non_slot) and
 * mdist_run_begin, mdist_preemption_check, and other workers' memory (mdist_variable_tensor, mdist_variable_arena).
 * Memory (mdist_alloc) and gradients are each worker's own: make them on every worker, before it serves or in a step.
 * (TensorFlow: MirroredStrategy.configure with a cluster_spec, in-graph replication.)
 *
 * Names work with every strategy: where nobody leads, mdist_run_named is mdist_run with the function of that name.
 */
#ifndef MDIST_SERVE_H
#define MDIST_SERVE_H

#include <mdist/variable.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gives @p step a name in @p strategy. The last registration of a name counts. With several workers led by a client,
 * all must register the same names before they serve and before its first command, which compares them:
 * MDIST_ERR_MISMATCH on all of them, reason `different_registrations`, says which is missing where; later ones are
 * MDIST_ERR_FAILED_PRECONDITION.
 * @param user_data  given to the step on this worker; stays valid while runs by that name are under way
 * @thread any   @blocks no   @collective no   @calls-back step, in mdist_run_named and mdist_serve   @since 0.1
 */
MDIST_API mdist_status_t mdist_step_register(mdist_strategy_t *strategy, const char *name, mdist_step_fn step,
                                             void *user_data, mdist_error_t **error);

/**
 * The same for what mdist_update calls. Steps and updates have names of their own.
 * @thread any   @blocks no   @collective no   @calls-back update, in mdist_update_named and mdist_serve   @since 0.1
 */
MDIST_API mdist_status_t mdist_update_register(mdist_strategy_t *strategy, const char *name, mdist_update_fn update,
                                               void *user_data, mdist_error_t **error);

/**
 * mdist_run of the step that is registered as @p name; on the client on the replicas of all workers, each of which
 * gets its part of the arguments, and gives its part of the results. MDIST_ERR_NOT_FOUND lists what is registered.
 * A step that fails anywhere ends the session, as a failed step ends every job of several workers: the error has its
 * sentence, mdist_error_replica and mdist_error_worker. What is found wrong before the workers are asked (a name, an
 * argument) ends nothing.
 * @param options  timeout_ns is for each wait for other workers, those in the step's collectives too
 * @thread one at a time per strategy   @blocks until every step has returned   @collective no
 * @calls-back the step, as mdist_run   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_named(mdist_strategy_t *strategy, const char *name, mdist_value_t *const *arguments,
                                         size_t argument_count, mdist_value_t **results, size_t result_count,
                                         const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_update of @p variable, or mdist_update_non_slot if that is NULL, with the update registered as @p name; on the
 * client on the copies of all workers. Failures as in mdist_run_named.
 * @thread one at a time per strategy   @blocks until the last copy is done   @collective no
 * @calls-back the update, as mdist_update   @since 0.1
 */
MDIST_API mdist_status_t mdist_update_named(mdist_strategy_t *strategy, mdist_variable_t *variable, const char *name,
                                            mdist_value_t *const *arguments, size_t argument_count,
                                            mdist_value_t **results, size_t result_count, mdist_error_t **error);

/**
 * Does what the client asks, until it destroys its strategy: MDIST_OK then. Afterwards the strategy has nothing to do
 * any more. A client that is lost, or ends without destroying it, is MDIST_ERR_PEER_LOST; a step that fails here is
 * what mdist_run says, one that fails elsewhere MDIST_ERR_ABORTED. Steps find the client's variables by
 * mdist_variable_find. On the client it is MDIST_ERR_WRONG_CONTEXT, and for a strategy that nobody leads
 * MDIST_ERR_FAILED_PRECONDITION; on a worker that serves, other functions outside of steps are MDIST_ERR_WRONG_CONTEXT.
 * @param options  timeout_ns is for each wait for the client's next command: MDIST_ERR_TIMEOUT ends the session.
 *                 0: `communication.timeout`; MDIST_FOREVER: as long as the client is there
 * @thread one at a time per strategy   @blocks until the client has ended the session   @collective no
 * @calls-back registered steps and updates   @since 0.1
 */
MDIST_API mdist_status_t mdist_serve(mdist_strategy_t *strategy, const mdist_call_options_t *options,
                                     mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
