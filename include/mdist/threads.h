/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Threads: a run on your own threads, without callbacks.
 *
 * This header is for programs that already have their threads. It is also for languages whose functions should not be
 * called on foreign threads (goroutines, Julia's tasks, scoped threads). mdist_run does everything in one call. Here it
 * takes four.
 *
 * Example:
 *
 *     mdist_replica_t *replica = NULL;
 *     mdist_run_begin(strategy, NULL, &error);
 *     for (uint32_t i = 0; i < mdist_strategy_local_replica_count(strategy); ++i) { // better: each i on its own thread
 *         mdist_replica_enter(strategy, i, &replica, &error);
 *         compute_step(replica); // yours
 *         mdist_replica_exit(replica, 0, &error);
 *     }
 *     mdist_run_end(strategy, NULL, 0, &error);
 *
 * The handle is the context, not the thread. Any thread may use the handle of an entered replica, one thread at a time.
 * So green threads may move from one system thread to another in the middle of a step. Begin and end may come from
 * different threads, too.
 *
 * You need as many threads as there are replicas that wait for each other. A thread that enters two of them and calls a
 * collective waits for itself, until the timeout. The key `executor` has no effect here: with `executor: caller` the
 * library has no replica threads at all.
 *
 * Threads that must not wait, such as those of an event loop, have other calls for everything that waits for replicas:
 * - a collective: mdist_collective_start; a message: mdist_send_start, mdist_receive_start
 * - mdist_gradients_wait: mdist_gradients_test
 * - mdist_average_loss: start a sum of the numbers of examples, and pass it
 * - assigning to a variable with an aggregation: start the all-reduce, and write its result to the replica's memory of
 *   the variable (mdist_variable_tensor)
 * - a merge: exit all replicas and end the run, none of which waits; then call functions of cross-replica context, and
 *   begin the next run
 * mdist_work_descriptor says when to test.
 *
 * The library does not know which threads run such a step. Inside it, functions that take a strategy find the strategy
 * busy: MDIST_ERR_FAILED_PRECONDITION, reason `busy`. The message says what to call instead. mdist_iterator_next works.
 */
#ifndef MDIST_THREADS_H
#define MDIST_THREADS_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Opens a run.
 *
 * From here to mdist_run_end the strategy is busy, and each local replica may be entered once. Inside a merge that
 * mdist_merge_begin opened, this call opens a nested run. The first run of an elastic job makes a commit first, as
 * mdist_commit does.
 * @param io  as in mdist_run, but results is NULL: result_count says how many replicas may set, and mdist_run_end gives
 *            them
 * @thread one at a time per strategy   @blocks no; in that commit: for the other workers
 * @collective no; that commit: all workers   @calls-back never; in that commit: the blobs' save functions   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_begin(mdist_strategy_t *strategy, const mdist_run_io_t *io, mdist_error_t **error);

/**
 * Closes the run and returns what mdist_run would: the first failure of any replica, else MDIST_OK and the results.
 *
 * These are MDIST_ERR_FAILED_PRECONDITION:
 * - reason `replica_inside`: a replica is still inside; the run stays open
 * - reason `not_entered`: a replica never entered, and nothing else failed; the run is closed
 * - reason `no_run`: no run is open
 *
 * Call it after a failure and after mdist_strategy_abort, too. Do not call it after mdist_strategy_destroy: then the
 * last replica to exit closes the run.
 * @param results       receives @p result_count values, as in mdist_run
 * @param result_count  as in mdist_run_begin, else MDIST_ERR_INVALID_ARGUMENT, and the run stays open
 * @thread any, when the replicas have left   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_run_end(mdist_strategy_t *strategy, mdist_value_t **results, size_t result_count,
                                       mdist_error_t **error);

/**
 * Enters the step of local replica @p local_replica.
 *
 * @p out is in replica context until mdist_replica_exit, and works with every function of replica context. Entering a
 * replica twice in one run fails with reason `entered_before`. If a replica's thread cannot come while others wait for
 * that replica, any thread may enter it and exit it with a code.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_enter(mdist_strategy_t *strategy, uint32_t local_replica, mdist_replica_t **out,
                                             mdist_error_t **error);

/**
 * Leaves the step; the handle dies.
 *
 * A @p code other than 0 fails the run and releases all other replicas, as a step that returns it does.
 *
 * The run also fails in these cases. This call then returns an error, but the replica has left all the same:
 * - reason `work_under_way`: an operation is still under way (mdist_collective_start)
 * - reason `merge_open`: a merge is still open
 *
 * mdist_run_end returns the first cause, so you need to check only there.
 *
 * Exception: local replica 0 stays inside, reason `busy`, while another thread is at work in its open merge.
 * @thread any, one at a time per replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_exit(mdist_replica_t *replica, int32_t code, mdist_error_t **error);

/**
 * Opens a merge without a function.
 *
 * Every local replica, entered by mdist_replica_enter, calls this and then mdist_merge_end. Local replica 0's code in
 * between happens once for all, in cross-replica context. Any thread may call functions that take a strategy there.
 * (mdist_merge_call works for entered replicas, too. In a step of mdist_run it is the only way.)
 *
 * If this call fails, no merge is open. Do not call mdist_merge_end then.
 * @param arguments  this replica's tensors, as in mdist_merge_call
 * @param values     on local replica 0: receives the replicas' tensors regrouped, @p argument_count values that you
 *                   own. On the others: receives NULLs. May be NULL if @p argument_count is 0.
 * @thread any, one at a time per replica   @blocks until every local replica has called it
 * @collective local replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_merge_begin(mdist_replica_t *replica, const mdist_tensor_t *arguments,
                                           size_t argument_count, mdist_value_t **values,
                                           const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Closes the merge and hands each replica its own part of the values that local replica 0 passes.
 *
 * Two failures change nothing: reason `no_merge`, and reason `busy` on local replica 0 while another thread is at work
 * in the merge. Any other failure closes the merge, too, and fails the run.
 * @param values   on local replica 0: @p count values; NULL for a result that no replica receives. They stay yours. On
 *                 the others: not read.
 * @param results  receives @p count descriptions, borrowed until this replica's next merge or its exit. data is NULL
 *                 and dtype 0 for a structure (mdist_replica_merge_result) and for a NULL. @p count is the same on
 *                 every replica, else MDIST_ERR_MISMATCH.
 * @param code     on local replica 0: a number other than 0 fails the run, as from a merge function, and values are not
 *                 read. On the others: 0.
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
