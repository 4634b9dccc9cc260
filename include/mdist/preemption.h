/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Preemption: one worker is told to go, and all of them save at the same step.
 *
 * Clusters announce that they take a machine back, by SIGTERM or by something to be polled. Whoever hears of it on any
 * worker calls mdist_preemption_announce; all workers ask mdist_preemption_check after every step, or every few, and
 * all get the same answer at the same step:
 *
 *     mdist_preemption_create(strategy, NULL, &preemption, &error);     restore the last checkpoint before
 *     for (;;) {
 *         mdist_run(strategy, ...);
 *         mdist_preemption_check(preemption, &verdict, NULL, NULL, &error);
 *         if (verdict != MDIST_PREEMPTION_GO_ON) save();                all together
 *         if (verdict == MDIST_PREEMPTION_END) break;
 *     }
 *
 * The library installs no signal handler; yours may call mdist_preemption_announce. (TensorFlow:
 * PreemptionCheckpointHandler. There the handler saves and exits by itself; here you do, since only you know how.)
 */
#ifndef MDIST_PREEMPTION_H
#define MDIST_PREEMPTION_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_preemption mdist_preemption_t;

typedef enum mdist_preemption_verdict {
    MDIST_PREEMPTION_GO_ON     = 0,
    MDIST_PREEMPTION_SAVE      = 1, /* save and go on: there is grace left, and this may be the last good moment */
    MDIST_PREEMPTION_END       = 2, /* save and end the program; whatever starts it again goes on from there */
    MDIST_PREEMPTION_PIN_INT32 = -0x7fffffff - 1
} mdist_preemption_verdict_t;

/** Options. NULL, or all zero but struct_size: no grace. */
typedef struct mdist_preemption_options {
    uint32_t struct_size; /* sizeof(mdist_preemption_options_t) as you were compiled */
    uint32_t flags;       /* must be 0 */
    uint64_t grace_ns;    /* time between the announcement and the end of the machine; 0: end at once. The same or not
                             on other workers: that of the worker it was announced to counts. */
} mdist_preemption_options_t;

/**
 * Makes a strategy's place for announcements. It keeps the strategy; one per strategy is enough.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_preemption_create(mdist_strategy_t *strategy, mdist_preemption_t **out,
                                                 const mdist_preemption_options_t *options, mdist_error_t **error);

/**
 * This worker is to go. Safe in a signal handler, as long as no other thread destroys the handle meanwhile. The first
 * call counts; a bad handle is ignored.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_preemption_announce(mdist_preemption_t *preemption);

/**
 * Asks all workers whether any was told to go. Without grace the first answer after an announcement is END. With grace
 * it is SAVE, then GO_ON, and END when what is left is less than twice the longest time between two checks.
 * Costs a small exchange between workers, and nothing to speak of with one.
 * @param verdict  receives an mdist_preemption_verdict_t, the same on all workers
 * @param worker   receives the rank of the worker it was announced to, the first of several; -1: none. May be NULL.
 * @thread one at a time per strategy   @blocks for the other workers   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_preemption_check(mdist_preemption_t *preemption, int32_t *verdict, int32_t *worker,
                                                const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Frees it. Restore the signal's handler before. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_preemption_destroy(mdist_preemption_t *preemption);

#ifdef __cplusplus
}
#endif

#endif
