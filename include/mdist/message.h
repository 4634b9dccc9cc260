/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Messages: one replica sends a buffer to another, in a step.
 *
 * Example, in a step of two replicas:
 *
 *     float x = 7;
 *     const mdist_buffer_t buffer = {&x, 1, MDIST_FLOAT32, 0};
 *     const uint64_t tag = 1;
 *     if (mdist_replica_id(replica) == 0) mdist_send(replica, 1, tag, &buffer, NULL, NULL);
 *     if (mdist_replica_id(replica) == 1) mdist_receive(replica, 0, tag, &buffer, NULL, NULL);
 *     assert(x == 7); // on both
 *
 * Matching
 * - A message goes from one replica to another, under a tag. Any 64-bit number is a tag.
 * - A receive takes the message of its sender and tag. Equal ones are received in the order in which they were sent.
 * - Both sides pass the same dtype and number of elements. The library compares them before it writes to the receiver's
 *   buffer. A difference is MDIST_ERR_MISMATCH, and the error names both sides. The receive fails with it. So does a
 *   send that still waits. If the send has returned, its run fails with it.
 * - Both sides belong to the same run. A message that is not received in it fails the run: MDIST_ERR_MISMATCH, reason
 *   `step_returned`. If a message comes from another worker too late for that, a later run fails, as soon as it waits
 *   for a message of that worker. Runs are counted, so all workers of a job make the same runs in the same order.
 * - Replica ids are those of the job, also between members of a group. Options that name a group are
 *   MDIST_ERR_UNSUPPORTED, reason `no_group`: a message involves nobody but its two replicas.
 * - Messages have no place in the order of the collectives, neither of the job nor of a group. A send may be open while
 *   the replica is in an all-reduce.
 *
 * When a send returns
 * - A message of up to 4096 bytes does not wait for its receiver, as long as fewer than 16 such messages from the same
 *   sender wait for the same receiver. The library keeps it.
 * - Any other send is done when the receiver has the bytes. So two replicas that both send a large message and then
 *   receive wait for each other until the timeout. Start one of the two, as in a ring:
 *
 *       mdist_send_start(replica, right, tag, &mine, &work, NULL, NULL);
 *       mdist_receive(replica, left, tag, &theirs, NULL, NULL);
 *       mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
 *       mdist_work_destroy(work);
 *
 * - A replica may send to itself. A large message needs a started side.
 *
 * When something goes wrong
 * - A wait ends at its timeout: that of the options, else the run's, else `communication.timeout`. Once both sides are
 *   there, it is for the time without progress (mdist_call_options_t). The error says who waits for whom: "replica 0
 *   waits to receive from 1 (tag 7), which waits to receive from 0 (tag 3)". As for collectives, a timeout ends all
 *   collectives of the strategy for good.
 * - A wait for a replica whose step has returned or failed, or whose worker is lost, ends with that cause.
 *
 * GPUs
 * - The buffer may lie on the replica's GPU. The bytes then go through host memory. A send first waits for the work of
 *   the replica's stream, also a started one. The two sides may differ in where their buffers lie.
 * - A started receive is copied to the GPU by mdist_work_test or mdist_work_wait. So call one of them even if a
 *   function of mdist_work_on_done has told you that the bytes are there.
 */
#ifndef MDIST_MESSAGE_H
#define MDIST_MESSAGE_H

#include <mdist/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sends a buffer to replica @p to.
 * @param to      a replica id of the job; may be this replica's own
 * @param buffer  read before the call returns
 * @thread replica   @blocks until the receiver has the bytes, or the library has copied a small message
 * @collective no, but replica to receives it   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_send(mdist_replica_t *replica, uint32_t to, uint64_t tag, const mdist_buffer_t *buffer,
                                    const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Receives a buffer from replica @p from.
 * @param from    a replica id of the job; may be this replica's own
 * @param buffer  receives the bytes
 * @thread replica   @blocks until the bytes are there   @collective no, but replica from sends it   @calls-back never
 * @since 0.2
 */
MDIST_API mdist_status_t mdist_receive(mdist_replica_t *replica, uint32_t from, uint64_t tag,
                                       const mdist_buffer_t *buffer, const mdist_call_options_t *options,
                                       mdist_error_t **error);

/**
 * Starts a send and returns at once.
 *
 * The work is used like that of a started collective (work.h). The buffer belongs to the operation until the work is
 * done. A replica may have 1024 started messages under way. They may be done in any order.
 * @param out  yours to destroy
 * @thread replica   @blocks no, but on a GPU for the work of the replica's stream
 * @collective no, but replica to receives it   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_send_start(mdist_replica_t *replica, uint32_t to, uint64_t tag,
                                          const mdist_buffer_t *buffer, mdist_work_t **out,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Starts a receive and returns at once. It is like mdist_send_start otherwise.
 * @param out  yours to destroy
 * @thread replica   @blocks no   @collective no, but replica from sends it   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_receive_start(mdist_replica_t *replica, uint32_t from, uint64_t tag,
                                             const mdist_buffer_t *buffer, mdist_work_t **out,
                                             const mdist_call_options_t *options, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
