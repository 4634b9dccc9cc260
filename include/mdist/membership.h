/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Membership: a worker says that it must leave, and all workers decide at the same step what they do about it.
 *
 * Before a cluster takes a machine back, it says so: by SIGTERM, or in a place that the program must poll. The worker
 * that learns of it calls mdist_membership_leave. All workers call mdist_membership_check after every step, or every
 * few steps. All of them get the same answer at the same step.
 *
 * Example, in a job of fixed size:
 *
 *     mdist_membership_leave(strategy, 0); // in one worker's handler of SIGTERM
 *     for (int32_t verdict = MDIST_VERDICT_GO_ON; verdict != MDIST_VERDICT_END;) {
 *         mdist_run(strategy, step, NULL, NULL, &error);
 *         mdist_membership_check(strategy, &verdict, NULL, NULL, &error);
 *         if (verdict != MDIST_VERDICT_GO_ON) save(); // yours; all workers save the same step
 *     }
 *
 * In an elastic job (elastic.h) the answer is also how workers learn that newcomers wait to enter, or that a launcher
 * wants fewer workers: MDIST_VERDICT_REGROUP. They then call mdist_commit and mdist_regroup.
 *
 * The library installs no signal handler. Yours may call mdist_membership_leave. (TensorFlow:
 * PreemptionCheckpointHandler. There the handler saves and exits by itself. Here the program does both, since only it
 * knows how.)
 */
#ifndef MDIST_MEMBERSHIP_H
#define MDIST_MEMBERSHIP_H

#include <mdist/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What all workers do next. Jobs of fixed size never get MDIST_VERDICT_REGROUP. */
typedef enum mdist_verdict {
    MDIST_VERDICT_GO_ON     = 0,
    MDIST_VERDICT_SAVE      = 1, /* save and go on: some grace is left, but this may be the last good moment */
    MDIST_VERDICT_END       = 2, /* save and end the program; it continues from there when it is started again */
    MDIST_VERDICT_REGROUP   = 3, /* commit and regroup: the job goes on with other workers */
    MDIST_VERDICT_PIN_INT32 = -0x7fffffff - 1
} mdist_verdict_t;

/**
 * Says that this worker must leave.
 *
 * It is safe in a signal handler, as long as no other thread destroys the strategy meanwhile: take the signal from the
 * handler before you destroy it. SIG_IGN is best, since the signal may come again. Only the first call counts. A bad
 * handle is ignored.
 *
 * In an elastic job whose other workers are enough to go on, the worker then leaves with the next regroup, which fails
 * for it with MDIST_ERR_ABORTED, reason `dismissed`, and no step is lost.
 * @param grace_ns  time from now to the end of the machine; 0: end at once
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API void mdist_membership_leave(mdist_strategy_t *strategy, uint64_t grace_ns);

/**
 * Asks all workers what to do next. All get the same answer.
 *
 * - REGROUP, in an elastic job: newcomers wait and the job has room for them. Or the launcher has asked a worker to
 *   leave. Or workers have said that they leave, and the others are at least `elastic.min_workers`. After the last
 *   step, too, a newcomer may wait: look at mdist_change_t::step before you make another step.
 * - Else, if no worker has said that it leaves, GO_ON.
 * - Else, if one leaves without grace, END.
 * - Else the first answer is SAVE, and later ones are GO_ON. As soon as the time left to one of them is at most twice
 *   the longest time between two of its checks, the answer is END.
 *
 * With several workers the call costs a small exchange between them. With one worker it costs next to nothing.
 * @param verdict  receives an mdist_verdict_t
 * @param rank     receives the rank of the worker that has said that it leaves, the lowest if several did; MDIST_NONE:
 *                 no worker. May be NULL.
 * @thread one at a time per strategy   @blocks for the other workers   @collective all workers
 * @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_membership_check(mdist_strategy_t *strategy, int32_t *verdict, uint32_t *rank,
                                                const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Returns 1 if this worker is a newcomer to an elastic job that is at work, and has not called mdist_regroup yet.
 *
 * Until then, what it creates is not compared with the other workers, and runs and collectives fail with
 * MDIST_ERR_FAILED_PRECONDITION, reason `joining`. It must create what the others have created, in the same order.
 * Its devices are CPUs until then, also if it has GPUs.
 * Returns 0 for any other strategy, and for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API int32_t mdist_strategy_is_joining(const mdist_strategy_t *strategy);

#ifdef __cplusplus
}
#endif

#endif
