/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Step: a run on threads of your own, without any callback.
 *
 * For languages that do not like to be called from foreign threads (goroutines, Julia's tasks, scoped threads), and for
 * programs that have their threads already. What mdist_run does in one call is here in four:
 *
 *     mdist_run_begin(strategy, ...)                    one thread
 *         mdist_replica_enter(strategy, i, &replica)    for each local replica i, on a thread of its own
 *             ... the step ...
 *         mdist_replica_exit(replica, code)
 *     mdist_run_end(strategy, ...)                      one thread, when all have exited
 *
 * The handle is the context, not the thread: whoever holds an entered replica may use it, from any thread, one at a
 * time. So green threads may move from one thread of the system to another in the middle of a step. Begin and end may
 * come from different threads, too. Replicas still need as many threads as there are replicas that wait for each other:
 * one thread that enters two of them and calls a collective waits for itself, until the timeout. `executor` has no
 * influence: with `executor: caller` the library has no replica threads at all.
 *
 * No thread knows that it is in such a step. What takes a strategy finds it busy there (MDIST_ERR_FAILED_PRECONDITION,
 * reason `busy`, with what to call instead), and mdist_iterator_next works.
 */
#ifndef MDIST_STEP_H
#define MDIST_STEP_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Opens a run: from here to mdist_run_end the strategy is busy, and each local replica may be entered once. Inside a
 * merge that was opened by mdist_merge_begin it opens a nested run.
 * @param arguments     as in mdist_run
 * @param result_count  how many results replicas may set
 * @param options       timeout_ns is for the collectives of this run that give none of their own
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_begin(mdist_strategy_t *strategy, mdist_value_t *const *arguments,
                                         size_t argument_count, size_t result_count,
                                         const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Closes the run. Returns what mdist_run would: the first failure of any replica, else MDIST_OK and the results.
 * While a replica is inside it is MDIST_ERR_FAILED_PRECONDITION, reason `replica_inside`, and the run stays open. A
 * replica that never entered is one too, reason `not_entered`, if nothing else failed; the run is closed then.
 * Without an open run it is reason `no_run`. To be called after a failure and mdist_strategy_abort, too; not after
 * mdist_strategy_destroy: the last replica to exit closes the run then.
 * @param results       receives @p result_count values, as in mdist_run
 * @param result_count  as in mdist_run_begin, else MDIST_ERR_INVALID_ARGUMENT, and the run stays open
 * @thread any, when the replicas have left   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_end(mdist_strategy_t *strategy, mdist_value_t **results, size_t result_count,
                                       mdist_error_t **error);

/**
 * Enters the step of local replica @p local_replica: @p out is in replica context until mdist_replica_exit, and takes
 * every function of replica context. A second time in one run is reason `entered_before`. A replica whose thread cannot
 * come, and that others wait for, can be entered and left with a code from any thread.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_enter(mdist_strategy_t *strategy, uint32_t local_replica, mdist_replica_t **out,
                                             mdist_error_t **error);

/**
 * Leaves the step; the handle dies. A @p code other than 0 fails the run and releases all others, as a step that
 * returns it does. An operation that is still under way (mdist_all_reduce_start), or a merge still open, fails the run
 * likewise, reason `work_under_way` or `merge_open`; that is an error here, too, but the replica has left all the same,
 * and mdist_run_end tells the first cause: one may look there only. (Local replica 0 alone stays where it is, reason
 * `busy`, while another thread is at work in its open merge.)
 * @thread any, one at a time per replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_exit(mdist_replica_t *replica, int32_t code, mdist_error_t **error);

/**
 * Opens a merge without a function: every local replica, entered by mdist_replica_enter, calls this and then
 * mdist_merge_end. What local replica 0 does in between happens once for all, in cross-replica context: the functions
 * that take a strategy are the right ones there, by any thread. (mdist_merge_call is for entered replicas, too; in a
 * step of mdist_run it is the only way.)
 * If it fails, no merge is open, and mdist_merge_end is not to be called.
 * @param arguments  this replica's tensors, as in mdist_merge_call
 * @param values     on local replica 0: receives the replicas' tensors regrouped, @p argument_count values that are
 *                   yours; on the others: NULLs. May be NULL if @p argument_count is 0.
 * @thread any, one at a time per replica   @blocks until every local replica has called it
 * @collective local replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_merge_begin(mdist_replica_t *replica, const mdist_tensor_t *arguments,
                                           size_t argument_count, mdist_value_t **values,
                                           const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Closes the merge, and hands each replica its own part of the values that local replica 0 gives. Reasons `no_merge`
 * and, on local replica 0 while another thread is at work in the merge, `busy` change nothing; any other failure closes
 * it, too, and fails the run.
 * @param values   on local replica 0: @p count values, or NULLs for results that nobody gets; they stay yours. On the
 *                 others: not read.
 * @param results  receives @p count descriptions, borrowed until this replica's next merge or its exit; data NULL and
 *                 dtype 0 for a structure (mdist_replica_merge_result_at) and for a NULL. The same count on every
 *                 replica, else MDIST_ERR_MISMATCH.
 * @param code     on local replica 0: other than 0 fails the run, as a merge function that returns it does; values are
 *                 not read then. On the others: 0.
 * @thread any, one at a time per replica
 * @blocks until local replica 0 has called it, however long that takes, or mdist_strategy_abort
 * @collective local replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_merge_end(mdist_replica_t *replica, int32_t code, mdist_value_t *const *values,
                                         mdist_tensor_t *results, size_t count, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
