/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Serve: one program leads the replicas of all workers (in-graph replication).
 *
 * With the configuration `strategy: in_graph`, worker 0 is the client. It alone runs the main part of the program, for
 * the replicas of all workers. The other workers serve. All run the same program.
 *
 * Example:
 *
 *     mdist_config_set(config, "strategy", "in_graph", &error);
 *     mdist_strategy_create(config, &strategy, &error);
 *     mdist_step_register(strategy, "train", step, NULL, &error); // on every worker, the same names
 *     if (mdist_strategy_rank(strategy) != 0)
 *         mdist_serve(strategy, NULL, &error);                    // until the client is done
 *     else
 *         mdist_run_named(strategy, "train", NULL, &error); // the client; on all replicas of the job
 *     mdist_strategy_destroy(strategy);                           // on the client, this ends the others' serving
 *
 * Outside of steps, all replicas of the job are local replicas of the client:
 * - mdist_strategy_local_replica_count counts them all. mdist_strategy_device names their devices ("cpu:0",
 *   "worker:1/cpu:0").
 * - Values have a tensor for each of them, and mdist_distribute_dataset cuts batches for all.
 * - Reductions and gathers of values therefore need no other worker.
 * - Variables are created, assigned and read on all workers. Checkpoints are saved and restored on all workers.
 *
 * In a step, in its merges and in an update, each worker has its own replicas again. All functions work there as in any
 * job of several workers. Collectives include all replicas.
 *
 * The client cannot have everything done on other workers. These functions fail with MDIST_ERR_UNSUPPORTED, reason
 * `in_graph`, and the message says what to do instead:
 * - functions that take a function of yours: mdist_run, mdist_map, mdist_update, mdist_update_devices
 * - mdist_run_begin, mdist_group_create and mdist_membership_check
 * - access to memory of other workers: mdist_variable_tensor, mdist_variable_arena
 *
 * Memory (mdist_alloc) and gradients belong to each worker. Make them on every worker, before it serves or in a step.
 * (TensorFlow: MirroredStrategy.configure with a cluster_spec, in-graph replication.)
 *
 * Names work with every strategy. If no client leads, mdist_run_named is mdist_run with the function of that name.
 */
#ifndef MDIST_SERVE_H
#define MDIST_SERVE_H

#include <mdist/variable.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Registers @p step in @p strategy under a name. If a name is registered more than once, the last registration counts.
 *
 * If a client leads several workers, all of them must register the same names. They must do so before they serve, and
 * before the client's first command, which compares the names:
 * - MDIST_ERR_MISMATCH, reason `different_registrations`, on all workers: the message says which name is missing where.
 * - MDIST_ERR_FAILED_PRECONDITION: the registration comes too late.
 *
 * @param user_data  given to the step on this worker; must stay valid while runs by that name are under way
 * @thread any   @blocks no   @collective no   @calls-back step, in mdist_run_named and mdist_serve   @since 0.1
 */
MDIST_API mdist_status_t mdist_step_register(mdist_strategy_t *strategy, const char *name, mdist_step_fn step,
                                             void *user_data, mdist_error_t **error);

/**
 * Registers a function for mdist_update_named, as mdist_step_register does for steps. Steps and updates have separate
 * names.
 * @thread any   @blocks no   @collective no   @calls-back update, in mdist_update_named and mdist_serve   @since 0.1
 */
MDIST_API mdist_status_t mdist_update_register(mdist_strategy_t *strategy, const char *name, mdist_update_fn update,
                                               void *user_data, mdist_error_t **error);

/**
 * Runs the step that is registered as @p name, as mdist_run does.
 *
 * On the client it runs on the replicas of all workers. Each worker gets its part of the arguments and gives its part
 * of the results. Failures:
 * - MDIST_ERR_NOT_FOUND: no step has that name. The message lists the names that are registered.
 * - A step that fails anywhere ends the session, even if all replicas refuse the same call. The error has the sentence
 *   of that step, and mdist_error_replica and mdist_error_rank.
 * - A mistake found before the workers are asked (in a name or an argument) ends nothing.
 *
 * @param io  as in mdist_run; timeout_ns applies to each wait for other workers, also in the step's collectives
 * @thread one at a time per strategy   @blocks until every step has returned   @collective no
 * @calls-back the step, as mdist_run   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_named(mdist_strategy_t *strategy, const char *name, const mdist_run_io_t *io,
                                         mdist_error_t **error);

/**
 * Updates @p variable with the update registered as @p name, as mdist_update does. If @p variable is NULL, it works as
 * mdist_update_devices does; timeout_ns of @p io must be 0.
 *
 * On the client it updates the copies of all workers. It fails as mdist_run_named does.
 * @thread one at a time per strategy   @blocks until the last copy is done   @collective no
 * @calls-back the update, as mdist_update   @since 0.1
 */
MDIST_API mdist_status_t mdist_update_named(mdist_strategy_t *strategy, mdist_variable_t *variable, const char *name,
                                            const mdist_run_io_t *io, mdist_error_t **error);

/**
 * Does what the client asks, until the client destroys its strategy. Then it returns MDIST_OK, and the strategy has
 * nothing more to do.
 *
 * Steps find the client's variables by mdist_variable_named. While a worker serves, other functions outside of steps
 * fail on it with MDIST_ERR_WRONG_CONTEXT. Errors:
 * - MDIST_ERR_PEER_LOST: the client was lost, or ended without destroying its strategy.
 * - The error that mdist_run would give: a step failed on this worker.
 * - MDIST_ERR_ABORTED: a step failed on another worker.
 * - MDIST_ERR_TIMEOUT: no command came in time, which ends the session.
 * - MDIST_ERR_WRONG_CONTEXT: this is the client.
 * - MDIST_ERR_FAILED_PRECONDITION: no client leads this strategy.
 *
 * @param options  timeout_ns applies to each wait for the client's next command. 0: `communication.timeout`;
 *                 MDIST_FOREVER: as long as the client is there
 * @thread one at a time per strategy   @blocks until the client has ended the session   @collective no
 * @calls-back registered steps and updates   @since 0.1
 */
MDIST_API mdist_status_t mdist_serve(mdist_strategy_t *strategy, const mdist_call_options_t *options,
                                     mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
