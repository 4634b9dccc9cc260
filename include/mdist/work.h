/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Work: a collective under way, for those who have something else to do than wait.
 *
 * Each `_start` takes what the collective of the same name takes, and returns at once. From there on the buffers belong
 * to the operation, until mdist_work_test or mdist_work_wait says that it is done or has failed, or the work is
 * destroyed. (The arrays of mdist_buffer_t are copied.) In languages that move or collect memory, take memory from
 * mdist_alloc.
 *
 * With one worker nothing happens behind your back: the operation moves on inside the calls of the replicas that take
 * part in it, test and wait among them. With several, a thread of the library goes on with it as soon as all local
 * replicas have come, so that it overlaps with what they compute. Some replicas may start what others call in the
 * blocking form. Whoever comes last need not wait.
 * A replica has one operation under way at most: until it is done, its other collectives, merges and joint assignments
 * are MDIST_ERR_FAILED_PRECONDITION, reason `work_under_way`. A step that ends with one under way fails its run for the
 * same reason. Every work is to be destroyed, also when it is done or has failed.
 */
#ifndef MDIST_WORK_H
#define MDIST_WORK_H

#include <mdist/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_work mdist_work_t;

/**
 * mdist_all_reduce, started. @p out is yours to destroy.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_reduce_start(mdist_replica_t *replica, mdist_reduce_op_t op,
                                                const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                                size_t buffer_count, mdist_work_t **out,
                                                const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_broadcast, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_broadcast_start(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *buffers,
                                               size_t buffer_count, mdist_work_t **out,
                                               const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_all_gather, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_gather_start(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                                const mdist_buffer_t *outputs, size_t buffer_count,
                                                mdist_work_t **out, const mdist_call_options_t *options,
                                                mdist_error_t **error);

/**
 * mdist_reduce_scatter, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce_scatter_start(mdist_replica_t *replica, mdist_reduce_op_t op,
                                                    const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                                    size_t buffer_count, mdist_work_t **out,
                                                    const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_all_to_all, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_all_to_all_start(mdist_replica_t *replica, const mdist_buffer_t *inputs,
                                                const mdist_buffer_t *outputs, size_t buffer_count,
                                                mdist_work_t **out, const mdist_call_options_t *options,
                                                mdist_error_t **error);

/**
 * mdist_barrier, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_barrier_start(mdist_replica_t *replica, mdist_work_t **out,
                                             const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Moves the operation on, as far as that goes without waiting for other replicas' calls, and says whether it is done.
 * It fails as the blocking form would: for ever, with the same error. The timeout counts from the start.
 * @param done  receives 1 or 0
 * @thread any   @blocks no, but it takes part in the computing
 * @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_work_test(mdist_work_t *work, int32_t *done, mdist_error_t **error);

/**
 * Waits until the operation is over, or for @p timeout_ns at most: @p done receives 1 or 0. If it failed, that is the
 * status. With MDIST_FOREVER the operation's own timeout is the only one.
 * @thread any   @blocks as said   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_work_wait(mdist_work_t *work, uint64_t timeout_ns, int32_t *done,
                                         mdist_error_t **error);

/**
 * Frees a work. One that is not done is finished if all replicas have come, else given up, which fails the step (with
 * several workers always, since nobody knows when the others would come): the run gets MDIST_ERR_ABORTED, reason
 * `work_destroyed`, and the calls of other replicas reason `step_failed`. The buffers are yours again in any case. NULL
 * is fine.
 * @thread any   @blocks no, but it takes part in the computing   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_work_destroy(mdist_work_t *work);

#ifdef __cplusplus
}
#endif

#endif
