/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Groups: some replicas of the job, in an order that you choose, with collectives of their own.
 *
 * Example:
 *
 *     const uint32_t list[] = {1, 0};                   // position 0 is replica 1
 *     mdist_group_t *group = NULL;
 *     mdist_group_create(strategy, list, 2, &group, NULL);
 *
 * and in a step:
 *
 *     float x = (float)(mdist_replica_id(replica) + 1), both[2];
 *     const mdist_buffer_t in = {&x, 1, MDIST_FLOAT32, 0}, out = {both, 2, MDIST_FLOAT32, 0};
 *     const mdist_call_options_t options = {.struct_size = sizeof options, .group = group};
 *     mdist_all_gather(replica, &in, &out, 1, &options, NULL);
 *     assert(both[0] == 2 && both[1] == 1);             // in the group's order
 *
 * Name a group in the options of a collective of a step, blocking or started. Then only the members call it. It works
 * as among all replicas, with these differences:
 * - Order. "Replica order" is the order of the group's list. Inputs are gathered, and parts lie, in that order.
 * - Bits. A sum follows the fixed tree of <mdist/collective.h> over positions in the list, not over replica ids. The
 *   layout of the job does not matter. A group that lists all replicas in order gives the bits of a call without one.
 * - Root. A root is still a replica id. It must be a member.
 * - Sequence. Each group has a sequence of calls of its own. The members of a group make the same calls with that
 *   group, in the same order. Calls with different groups are not compared, do not wait for each other, and run at the
 *   same time. A replica may use several groups, and collectives of the whole job, in turn.
 * - Deadlock. Two replicas that wait for each other in different groups wait until their timeout, as with locks.
 *
 * These take a group: mdist_all_reduce, mdist_all_reduce_sparse, mdist_broadcast, mdist_all_gather,
 * mdist_reduce_scatter, mdist_all_to_all, mdist_all_to_all_parts, mdist_reduce_to_root, mdist_gather_to_root,
 * mdist_scatter, mdist_barrier, mdist_collective_start and mdist_prepared_create. Any other function with a
 * group, such as mdist_send, is MDIST_ERR_UNSUPPORTED, reason `no_group`. In mdist_replica_graph, a collective with a
 * group is MDIST_ERR_WRONG_CONTEXT.
 *
 * Failures name the group, as in "group {0, 2}". A failure that ends the step or the job for one replica ends it for
 * all replicas, members or not.
 *
 * Several workers
 * - A group may lie within one worker or span several. Its workers connect with each other for this group alone: by
 *   shared memory on one host, else by one connection for each pair. So keep groups. Do not make one in each step.
 * - A group is fastest if the list names the members of each worker one after another. With other lists, sums send
 *   every member's input instead of partial sums.
 * - The key `communication.implementation` applies.
 *
 * GPUs: buffers may lie on the replicas' GPUs. If the strategy uses NCCL, a group of several replicas of one worker has
 * NCCL communicators of its own. Other groups do not: within a worker, the library's kernels sum, and between workers,
 * bytes go through the host.
 */
#ifndef MDIST_GROUP_H
#define MDIST_GROUP_H

#include <mdist/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

/* mdist_group_t, the group's handle, is declared in strategy.h. */

/**
 * Makes a group of @p count replicas.
 *
 * All workers call it with the same list, even workers without members, and in the same order among their other calls.
 * The library compares the lists.
 * - MDIST_ERR_INVALID_ARGUMENT: the list is empty, or names a replica twice or one that does not exist
 * - MDIST_ERR_MISMATCH: two workers passed different lists; the message shows both
 * - MDIST_ERR_UNSUPPORTED: the strategy is `in_graph`
 *
 * With several workers, MISMATCH ends the job's collectives, and so does INVALID_ARGUMENT if not all workers get it.
 * @param replicas  replica ids in any order, copied; member i has position i
 * @param out       receives the group, which you own
 * @thread one at a time per strategy   @blocks for the other workers   @collective all workers
 * @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_group_create(mdist_strategy_t *strategy, const uint32_t *replicas, size_t count,
                                            mdist_group_t **out, mdist_error_t **error);

/**
 * Returns the number of members; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API uint32_t mdist_group_size(const mdist_group_t *group);

/**
 * Returns the position of replica @p replica in the list; MDIST_NONE if it is not a member, or for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API uint32_t mdist_group_position(const mdist_group_t *group, uint32_t replica);

/**
 * Destroys a group. NULL is allowed.
 *
 * Operations under way run to their end. Later calls that name the group are MDIST_ERR_BAD_HANDLE. A group may outlive
 * its strategy's handle, and keeps the strategy's memory until then. The group's connections to other workers stay open
 * until the next mdist_group_create or the end of the strategy.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API void mdist_group_destroy(mdist_group_t *group);

#ifdef __cplusplus
}
#endif

#endif
