/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Work: a collective that you start and finish later, so that the replica can compute in between.
 *
 * Example, in a step:
 *
 *     float x = 1;
 *     const mdist_buffer_t one = {&x, 1, MDIST_FLOAT32, 0};
 *     const mdist_collective_description_t sum = {sizeof sum, MDIST_COLLECTIVE_ALL_REDUCE, MDIST_SUM, 0,
 *                                                 &one, &one, 1, NULL, NULL};
 *     mdist_work_t *work = NULL;
 *     mdist_collective_start(replica, &sum, &work, NULL, NULL);
 *     for (int32_t done = 0; !done;) mdist_work_test(work, &done, NULL); // or compute something that does not need x
 *     mdist_work_destroy(work);
 *
 * mdist_collective_start takes what a collective's function takes, as a struct, and returns at once.
 *
 * Buffers
 * - The buffers belong to the operation until mdist_work_test or mdist_work_wait says that it is done or has failed, or
 *   until you destroy the work. (The library copies the arrays of mdist_buffer_t, and of parts.)
 * - In languages that move or collect memory, take memory from mdist_alloc.
 *
 * Order
 * - A replica may start several operations without waiting in between. They run in the order of their starts. That
 *   order must be the same on all replicas, as with the blocking calls.
 * - Test and wait for them in any order.
 * - A replica's blocking calls (collectives, merges, aggregated assignments) keep this order, too: they first wait for
 *   all operations that the replica has started.
 * - Some replicas may start an operation that others call in the blocking form.
 *
 * Limits
 * - At most 1024 operations are under way per replica. One more is MDIST_ERR_RESOURCE, reason `too_many_works`.
 * - The timeout of an operation counts from when its turn has come.
 * - A step that ends with an operation under way fails its run: MDIST_ERR_FAILED_PRECONDITION, reason `work_under_way`.
 * - Destroy every work, even when it is done or has failed.
 *
 * Progress
 * - With one worker, the library does nothing in the background. Operations move on inside calls of the replicas that
 *   take part in them, including test and wait. Each such call also moves on the operations of other replicas.
 * - With several workers, a thread of the library moves on each operation as soon as all local replicas have come to
 *   it. So communication overlaps with what they compute.
 *
 * GPUs
 * - An operation on GPU buffers begins after the work that the replica's stream had when the operation was started.
 * - It is done when all of its work has been given to the GPUs. The GPUs may not have finished that work.
 * - Once mdist_work_test or mdist_work_wait has said that it is done, new work on the stream runs after the results.
 * - Until then new work on the stream runs beside the operation, so it must not touch the operation's buffers.
 *
 * Event loops (libuv, tokio, Go, Julia): take mdist_work_descriptor, and call mdist_work_test whenever it is readable.
 * No thread waits, and you never poll for nothing. Or give a function to mdist_work_on_done.
 */
#ifndef MDIST_WORK_H
#define MDIST_WORK_H

#include <mdist/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_work mdist_work_t;

/**
 * Starts the collective that @p collective describes, and returns at once.
 *
 * The blocking forms of other replicas may meet it: it counts as the collective that it describes.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_collective_start(mdist_replica_t *replica,
                                                const mdist_collective_description_t *collective, mdist_work_t **out,
                                                const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Moves the operation on as far as it goes without waiting for other replicas' calls, and says whether it is done.
 *
 * It fails as the blocking form would. After a failure every later call gives the same error.
 * @param done  receives 1 or 0
 * @thread any   @blocks no, but it takes part in the computing
 * @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_work_test(mdist_work_t *work, int32_t *done, mdist_error_t **error);

/**
 * Waits until the operation is over, but at most @p timeout_ns.
 *
 * If the operation failed, this call returns its error. With MDIST_FOREVER only the operation's own timeout applies.
 * @param done  receives 1 if the operation is done, else 0
 * @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_work_wait(mdist_work_t *work, uint64_t timeout_ns, int32_t *done, mdist_error_t **error);

/**
 * Gives a file descriptor for poll, epoll and similar calls.
 *
 * It is readable when mdist_work_test has something to do or to say:
 * - all replicas have come and there is work to take part in
 * - the operation is done, or has failed or timed out
 * - its work was destroyed
 *
 * Call mdist_work_test when the descriptor is readable. If @p done is 0 then, go on polling. After the end of the
 * operation the descriptor stays readable. Never read from it.
 *
 * (mdist_work_on_done calls a function instead. With one worker, it can do so only in some call of the library, since
 * no thread is behind an operation.)
 * @param out  receives a new descriptor, closed on exec. You close it, before or after mdist_work_destroy.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_work_descriptor(mdist_work_t *work, int32_t *out, mdist_error_t **error);

/**
 * A function that is called when an operation is over.
 *
 * It may call mdist_work_test, mdist_work_destroy and other functions of `@thread any` that do not block. It must not
 * wait, throw or end its thread: operations of all local replicas may be waiting for it. Functions of a replica or a
 * strategy, and mdist_work_wait, are MDIST_ERR_WRONG_CONTEXT in it. If it destroys the work of another operation that
 * is not done, that operation goes on.
 * @param status  MDIST_OK, or what mdist_work_test gives from now on; MDIST_ERR_ABORTED if the work was destroyed
 */
typedef void (*mdist_work_done_fn)(mdist_status_t status, void *user_data);

/**
 * Makes the library call a function once when the operation is done, or has failed.
 *
 * When and where
 * - If the operation is over already, it is called before this call returns.
 * - With one worker: within some call of the library that a local replica makes after the operation has ended. That may
 *   be a call of another replica, on its thread.
 * - With several workers: on a thread of the library, or as with one.
 * - Always before the step of the replica that started the operation has ended, also if the step fails, is aborted, or
 *   if the work is destroyed. So it is called exactly once, unless this call fails.
 * - It may come after mdist_work_wait has returned. In a step of mdist_run, the replica's handle is valid in it, for
 *   mdist_replica_id, mdist_replica_local_index and mdist_replica_count.
 *
 * On GPUs the operation is over when all of its work has been given to the GPUs. Call mdist_work_test before the
 * replica's stream uses the results.
 *
 * A work may have several such functions. A replica must still wait for its operation, or learn its end by the
 * function, before its step ends.
 * @thread any   @blocks no   @collective no   @calls-back done, as said   @since 0.2
 */
MDIST_API mdist_status_t mdist_work_on_done(mdist_work_t *work, mdist_work_done_fn done, void *user_data,
                                            mdist_error_t **error);

/**
 * Frees a work.
 *
 * If the operation is not done, the effect depends on whether all replicas have come:
 * - If they have, and there is one worker, this call finishes the operation.
 * - Otherwise it gives the operation up, which fails the step. The run gets MDIST_ERR_ABORTED, reason `work_destroyed`;
 *   the calls of other replicas get reason `step_failed`. With several workers this is always so, since nobody knows
 *   when the others would come.
 *
 * The buffers are yours again in any case. NULL is ignored.
 * @thread any   @blocks no, but it takes part in the computing   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_work_destroy(mdist_work_t *work);

#ifdef __cplusplus
}
#endif

#endif
