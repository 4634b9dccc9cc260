/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Preemption: when one worker is told to leave, all workers save at the same step.
 *
 * Before a cluster takes a machine back, it says so: by SIGTERM, or in a place that the program must poll. The worker
 * that learns of it calls mdist_preemption_announce. All workers call mdist_preemption_check after every step, or every
 * few steps. All of them get the same answer at the same step.
 *
 * Example:
 *
 *     mdist_preemption_t *preemption = NULL;
 *     mdist_preemption_create(strategy, &preemption, NULL, &error);
 *     mdist_preemption_announce(preemption); // in one worker's handler of SIGTERM
 *     for (int32_t verdict = MDIST_PREEMPTION_GO_ON; verdict != MDIST_PREEMPTION_END;) {
 *         mdist_run(strategy, step, NULL, NULL, &error);
 *         mdist_preemption_check(preemption, &verdict, NULL, NULL, &error);
 *         if (verdict != MDIST_PREEMPTION_GO_ON) save(); // yours; all workers save the same step
 *     }
 *
 * The library installs no signal handler. Yours may call mdist_preemption_announce. (TensorFlow:
 * PreemptionCheckpointHandler. There the handler saves and exits by itself. Here the program does both, since only it
 * knows how.)
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
    MDIST_PREEMPTION_SAVE      = 1, /* save and go on: some grace is left, but this may be the last good moment */
    MDIST_PREEMPTION_END       = 2, /* save and end the program; it continues from there when it is started again */
    MDIST_PREEMPTION_PIN_INT32 = -0x7fffffff - 1
} mdist_preemption_verdict_t;

/** Options for preemption. NULL, or all zero except struct_size: no grace. */
typedef struct mdist_preemption_options {
    uint32_t struct_size; /* sizeof(mdist_preemption_options_t) as you were compiled */
    uint32_t flags;       /* must be 0 */
    uint64_t grace_ns;    /* time between the announcement and the end of the machine; 0: end at once. Workers may have
                             different values: that of the worker that announced the preemption counts. */
} mdist_preemption_options_t;

/**
 * Creates the object that receives a strategy's announcements. It keeps the strategy. One per strategy is enough.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_preemption_create(mdist_strategy_t *strategy, mdist_preemption_t **out,
                                                 const mdist_preemption_options_t *options, mdist_error_t **error);

/**
 * Announces that this worker is about to go.
 *
 * It is safe in a signal handler, as long as no other thread destroys the handle meanwhile. Only the first call counts.
 * A bad handle is ignored.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_preemption_announce(mdist_preemption_t *preemption);

/**
 * Asks all workers whether any of them was told to go. All workers get the same answer.
 *
 * - Before an announcement it is GO_ON.
 * - Without grace, the first answer after an announcement is END.
 * - With grace, the first answer is SAVE, and later ones are GO_ON. As soon as the time left is at most twice the
 *   longest time between two checks, the answer is END.
 *
 * With several workers the call costs a small exchange between them. With one worker it costs next to nothing.
 * @param verdict  receives an mdist_preemption_verdict_t, the same on all workers
 * @param rank     receives the rank of the worker that announced the preemption, the lowest if several did;
 *                 MDIST_NONE: no worker. May be NULL.
 * @thread one at a time per strategy   @blocks for the other workers   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_preemption_check(mdist_preemption_t *preemption, int32_t *verdict, uint32_t *rank,
                                                const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Frees a preemption object. Take the signal from it before; SIG_IGN is best, since it may come again. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_preemption_destroy(mdist_preemption_t *preemption);

#ifdef __cplusplus
}
#endif

#endif
