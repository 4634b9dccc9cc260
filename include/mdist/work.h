/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Work: a collective under way, for those who have something else to do than wait.
 *
 * Each `_start` takes what the collective of the same name takes, and returns at once. From there on the buffers belong
 * to the operation, until mdist_work_test or mdist_work_wait says that it is done or has failed, or the work is
 * destroyed. (The arrays of mdist_buffer_t are copied.) In languages that move or collect memory, take memory from
 * mdist_alloc.
 *
 * A replica may start several, and need not wait for one before the next: they take their turn in the order of their
 * starts, which must be the same on all replicas, as with the blocking forms. Test and wait for them in any order. The
 * blocking calls of a replica (collectives, merges, joint assignments) take effect in that order, too: they first wait
 * for all that it has started. At most 1024 are under way per replica; one more is MDIST_ERR_RESOURCE, reason
 * `too_many_works`. The timeout of each counts from when its turn has come.
 *
 * With one worker nothing happens behind your back: operations move on inside the calls of the replicas that take part
 * in them, test and wait among them, and whoever is in such a call lets the others' operations move on, too. With
 * several, a thread of the library goes on with each as soon as all local replicas have come to it, so that it overlaps
 * with what they compute. Some replicas may start what others call in the blocking form. Whoever comes last need not
 * wait.
 *
 * Of buffers on the replica's GPU, an operation begins behind what the replica's stream had been given when it was
 * started. It is done when the GPUs have been given all of it: once mdist_work_test or mdist_work_wait has said so,
 * what the stream is given next comes behind the results, and nothing has waited for a GPU. Until then what the stream
 * does goes on beside it, so leave its buffers alone there, too.
 *
 * A step that ends with one under way fails its run: MDIST_ERR_FAILED_PRECONDITION, reason `work_under_way`. Every work
 * is to be destroyed, also when it is done or has failed.
 *
 * In an event loop (libuv, tokio, Go, Julia) take mdist_work_descriptor, and whenever it is readable, call
 * mdist_work_test: no thread waits, and nothing is polled in vain.
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
 * mdist_reduce_to_root, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_reduce_to_root_start(mdist_replica_t *replica, mdist_reduce_op_t op, uint32_t root,
                                                    const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                                    size_t buffer_count, mdist_work_t **out,
                                                    const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_gather_to_root, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_gather_to_root_start(mdist_replica_t *replica, uint32_t root,
                                                    const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                                                    size_t buffer_count, mdist_work_t **out,
                                                    const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_scatter, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_scatter_start(mdist_replica_t *replica, uint32_t root, const mdist_buffer_t *inputs,
                                             const mdist_buffer_t *outputs, size_t buffer_count, mdist_work_t **out,
                                             const mdist_call_options_t *options, mdist_error_t **error);

/**
 * mdist_barrier, started.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_barrier_start(mdist_replica_t *replica, mdist_work_t **out,
                                             const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Moves the operation on, as far as that goes without waiting for other replicas' calls, and says whether it is done.
 * It fails as the blocking form would: for ever, with the same error.
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
 * A descriptor for poll, epoll and their kin, which is readable when mdist_work_test has something to do or to say: all
 * replicas have come and there is work to take part in, the operation is done, it has failed or timed out, its work was
 * destroyed. So: call mdist_work_test when it is readable; if that says 0, go on polling. From the end of the operation
 * on it stays readable. Never read from it. (There is no callback, since with one worker no thread stands behind an
 * operation that could make the call.)
 * @param out  receives a new descriptor, closed on exec and yours to close, before or after mdist_work_destroy
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_work_descriptor(mdist_work_t *work, int32_t *out, mdist_error_t **error);

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
