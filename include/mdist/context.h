/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Context: the current strategy and the current replica of a thread.
 *
 * Example:
 *
 *     mdist_strategy_t *current = NULL;
 *     mdist_scope_enter(strategy, &error);
 *     mdist_current_strategy(&current, &error); // in code that was given no handle
 *     assert(mdist_strategy_replica_count(current) == 2);
 *     mdist_scope_exit(strategy, &error);
 *
 * Every function of libmdist takes its strategy or replica as an argument. Code that does not have the handle (a layer,
 * a metric, a binding's block) asks for it here. Each thread has a stack of contexts: steps, merge, map and update
 * functions, and scopes that the program entered. At the bottom is the default strategy, so there is always an answer:
 *
 *     where                                     strategy        replica
 *     a step of mdist_run                       its own         its own
 *     a merge, map or update function           its own         none: cross-replica context
 *     a scope                                   the entered     none
 *     none of these, a default strategy is set  that            none
 *     none of these                             a built-in one  its only replica: code written for steps runs anywhere
 *
 * A step on your own threads (threads.h) belongs to its handle, not to a thread. The library does not know which
 * threads run it, so pass the replica on yourself.
 *
 * (TensorFlow: Strategy.scope, get_strategy, get_replica_context, has_strategy, experimental_set_strategy. Unlike in
 * TensorFlow, no function needs a scope. You may call mdist_run of one strategy in the scope of another.)
 */
#ifndef MDIST_CONTEXT_H
#define MDIST_CONTEXT_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes @p strategy the current strategy of this thread until mdist_scope_exit.
 *
 * - Scopes of the same strategy nest. Inside a scope of another strategy: MDIST_ERR_FAILED_PRECONDITION, reason
 *   `other_strategy`.
 * - In a step: MDIST_ERR_WRONG_CONTEXT.
 * - A scope that a merge or update function leaves open ends with the function. All scopes of a thread end with the
 *   thread.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scope_enter(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Leaves the scope that this thread entered last.
 *
 * That scope must be one of @p strategy, which may be destroyed already. Else it is MDIST_ERR_FAILED_PRECONDITION,
 * reason `no_scope`, and nothing changes.
 * @thread the one that entered   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scope_exit(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Gives the strategy that this thread works for, as the table above says.
 *
 * It is borrowed: do not destroy it. The call fails only if the library cannot create the default strategy, which is
 * one CPU regardless of the environment.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_current_strategy(mdist_strategy_t **out, mdist_error_t **error);

/**
 * Gives the replica that this thread works for, as the table above says; NULL in cross-replica context.
 *
 * The replica is borrowed, for this thread only and only while it lives. The default strategy's replica is in a step
 * that never ends. Its collectives and merges are those of one replica, and it has no arguments or results. After a
 * failure in it, ask again.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_current_replica(mdist_replica_t **out, mdist_error_t **error);

/**
 * Sets the default strategy of every thread that is in no step, function or scope; NULL restores the built-in default.
 *
 * Inside a step, function or scope it is MDIST_ERR_WRONG_CONTEXT. When @p strategy is destroyed, the built-in default
 * returns.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_set_default_strategy(mdist_strategy_t *strategy, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
