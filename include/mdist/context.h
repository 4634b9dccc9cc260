/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Context: which strategy and which replica this thread works for.
 *
 * Every function of libmdist is told its strategy or replica. Code far away from who has the handle (a layer, a metric,
 * a binding's block) asks here instead. What a thread runs for is a stack of its own: a step, a merge or update
 * function, and scopes that the program entered. At the bottom is the default strategy, so there is always an answer:
 *
 *     where                                     strategy        replica
 *     a step of mdist_run                       its own         its own
 *     a merge, map or update function           its own         none: cross-replica context
 *     a scope                                   the entered     none
 *     none of these, a default strategy is set  that            none
 *     none of these                             of one replica  the only one: code written for steps runs anywhere
 *
 * A step on your own threads (step.h) is bound to its handle, not to a thread: no thread knows that it is in one. So
 * there, too, hand the replica on.
 * (TensorFlow: Strategy.scope, get_strategy, get_replica_context, has_strategy, experimental_set_strategy. Other than
 * there, no function needs a scope, and mdist_run of one strategy may be called in the scope of another.)
 */
#ifndef MDIST_CONTEXT_H
#define MDIST_CONTEXT_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes @p strategy the current one of this thread until mdist_scope_exit. Scopes nest, of the same strategy only:
 * within another's it is MDIST_ERR_FAILED_PRECONDITION, reason `other_strategy`. In a step it is
 * MDIST_ERR_WRONG_CONTEXT. One that a merge or update function leaves open ends with it, and all end with their thread.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scope_enter(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Leaves the scope that this thread entered last, which must be that of @p strategy, destroyed or not; else it is
 * MDIST_ERR_FAILED_PRECONDITION, reason `no_scope`, and nothing changes.
 * @thread the one that entered   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scope_exit(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * The strategy this thread works for, as the table above says. Borrowed: not yours to destroy. Fails only where the
 * default strategy, one CPU whatever the environment says, cannot be made.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_current_strategy(mdist_strategy_t **out, mdist_error_t **error);

/**
 * The replica this thread works for, as the table above says; NULL in cross-replica context. Borrowed, for this thread
 * and as long as it is there. The default strategy's is in a step that never ends: collectives and merges are those of
 * one replica, and there are no arguments or results. After a failure in it, ask again.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_current_replica(mdist_replica_t **out, mdist_error_t **error);

/**
 * Sets what is current on every thread that is in no step, function or scope; NULL: the built-in default again. Called
 * in one of those it is MDIST_ERR_WRONG_CONTEXT. Once @p strategy is destroyed, the built-in one is the default.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_set_default_strategy(mdist_strategy_t *strategy, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
