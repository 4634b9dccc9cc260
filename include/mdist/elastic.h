/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Elastic: a job that goes on when it loses or gains workers, with the same results.
 *
 * Example, one step of a training loop, in a job with key `elastic.replicas`:
 *
 *     uint64_t at = 0; // steps that all workers have done
 *     mdist_change_t change = {.struct_size = sizeof change};
 *     if (mdist_run(strategy, step, &at, NULL, NULL) == MDIST_OK)
 *         mdist_commit(strategy, ++at, NULL, NULL); // MDIST_ERR_FAILED_PRECONDITION in a job of fixed size
 *     else if (mdist_regroup(strategy, &change, NULL, NULL) == MDIST_OK)
 *         at = change.step; // workers were lost: go on from the newest commit
 *
 * examples/c/13_elastic.c has the whole loop, with newcomers.
 *
 * The number of replicas stays the same for the life of the job, the number of workers does not. Sums follow one tree
 * over replica ids, so results do not depend on which worker has which replica. If the step depends only on its replica
 * id, its input, the variables and the blobs, the training ends in the same bits as without any loss.
 *
 * mdist_commit keeps a copy of the state in memory: of all variables, of the positions of iterators over distributed
 * datasets, and of the blobs. When a worker is lost, calls of the others fail, as in any job. They then call
 * mdist_regroup. It forms the next *generation* of the job, of the workers that are left and those that have come,
 * deals the replicas out to them, and restores the commit.
 *
 * Checkpoints outlive the job. Before the first run, the workers that are not newcomers restore one together, and call
 * mdist_commit with its step. A newcomer restores nothing. Rank 0, which reads and writes checkpoints, is another
 * worker after the first one is lost, so all hosts need their folder.
 *
 * After mdist_regroup:
 * - The strategy, variables, datasets, iterators, checkpoints, gradients and blobs go on.
 * - Groups, calls, works and loops have ended: using one fails with MDIST_ERR_FAILED_PRECONDITION, reason
 *   `old_generation`. Destroy them.
 * - Values keep their tensors, but a per-replica value has one for each replica that the worker had. Make new ones.
 * - Addresses of variables and gradients have changed, and so have the worker's rank and its local replicas. Old
 *   addresses can be used as long as the variable or the gradients, but what lies there has no meaning.
 *
 * On GPUs (key `devices`), the replicas of a worker take its cards in turns. The library waits for their streams before
 * it regroups; work on other streams must be done. Memory of mdist_alloc stays where it is: allocate anew for the
 * replicas that the worker has now.
 */
#ifndef MDIST_ELASTIC_H
#define MDIST_ELASTIC_H

#include <mdist/membership.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What has changed with a regroup. Set struct_size before the call. */
typedef struct mdist_change {
    uint32_t struct_size; /* sizeof(mdist_change_t) as you were compiled */
    uint32_t generation;  /* of the job, from 1 */
    uint64_t step;        /* that mdist_commit was given for the commit that was restored; 0 for the first */
    uint32_t rank;        /* of this worker */
    uint32_t worker_count;
    uint32_t first_replica_id; /* of this worker */
    uint32_t local_replica_count;
} mdist_change_t;

/**
 * Keeps a copy of the state in memory, for mdist_regroup to go back to.
 *
 * The library makes the first commit itself, before the first run, with step 0 and all iterators at their beginning. A
 * program that has taken more elements by then calls mdist_commit before its first run instead.
 *
 * A new commit takes the place of the one before as soon as all workers have it. What belongs to one replica
 * (sync-on-read variables, blobs) also goes to `elastic.copies` other workers. Mirrored variables must be equal on all
 * replicas.
 *
 * Errors:
 * - MDIST_ERR_FAILED_PRECONDITION: the job is not elastic (reason `not_elastic`), a run or merge is open (`open_run`),
 *   or this worker is a newcomer (`joining`).
 * - MDIST_ERR_MISMATCH: the workers have not created the same, or pass other steps.
 * - MDIST_ERR_CALLBACK: a blob's function failed on some worker. The call fails on all workers in the same words. The
 *   commit before stays, no worker counts as lost, and the job goes on.
 * - As mdist_all_reduce, if workers are lost. Then mdist_regroup restores this commit or the one before.
 * @param step  number of steps done so far, or any other number that tells the program where to go on; the same on all
 *              workers
 * @thread one at a time per strategy, outside of steps and merges   @blocks for the other workers
 * @collective all workers   @calls-back the blobs' save functions   @since 0.2
 */
MDIST_API mdist_status_t mdist_commit(mdist_strategy_t *strategy, uint64_t step, const mdist_call_options_t *options,
                                      mdist_error_t **error);

/**
 * Forms the next generation of the job, and restores the newest commit of which all is left.
 *
 * Call it when a call has failed because of a lost worker, when mdist_membership_check says so, and on a newcomer
 * before its first step. It returns when all workers of the generation have restored the commit and made it anew. If
 * workers are lost meanwhile, it begins again.
 *
 * Errors:
 * - MDIST_ERR_FAILED_PRECONDITION: the job is not elastic (`not_elastic`), a run or merge is open (`open_run`), or what
 *   failed was no loss of a worker (`not_a_loss`).
 * - MDIST_ERR_DATA_LOSS, `replica_lost`: the state of some replicas is lost. The message names them.
 * - MDIST_ERR_ABORTED, `old_generation`: the job goes on without this worker, which was silent too long. `no_store`:
 *   the store cannot be reached. `unreachable`: the worker cannot connect with the others. `no_commit`: there was no
 *   commit yet. `dismissed`: this worker has left, as it
 *   said or as its launcher asked. `dropped`: others waited for this worker, and
 *   it did not call mdist_regroup in time.
 * - MDIST_ERR_TIMEOUT, `too_few_workers`: fewer than `elastic.min_workers` came within `elastic.wait`.
 * - MDIST_ERR_MISMATCH, `different_program`: this newcomer has not created what the job has.
 * - MDIST_ERR_DEVICE, or MDIST_ERR_TIMEOUT with reason `gpu_timeout`: a GPU of this worker has failed, or does not end
 *   its work. MDIST_ERR_OUT_OF_MEMORY: it has no room for the replicas that the worker gets.
 * - Reason `too_many_losses`: more than `elastic.max_losses_per_commit` losses without a new commit.
 * After any of them but MDIST_ERR_FAILED_PRECONDITION this worker is out of the job.
 * @param change   receives what has changed; may be NULL
 * @param options  their timeout_ns limits each wait for the next generation; 0: `communication.join_timeout`
 * @thread one at a time per strategy, outside of steps and merges; meanwhile other threads may call only
 * mdist_strategy_abort, mdist_strategy_check_health and mdist_strategy_destroy
 * @blocks for the other workers   @collective all workers   @calls-back the blobs' restore and save functions,
 * and those of datasets   @since 0.2
 */
MDIST_API mdist_status_t mdist_regroup(mdist_strategy_t *strategy, mdist_change_t *change,
                                       const mdist_call_options_t *options, mdist_error_t **error);

typedef struct mdist_blob mdist_blob_t;

/** Copies the state of a replica to @p to. Returns 0; anything else is a failure. */
typedef int32_t (*mdist_blob_save_fn)(uint32_t replica_id, void *to, size_t bytes, void *user_data);
/** Takes the state of a replica back from @p from. Returns 0; anything else is a failure. */
typedef int32_t (*mdist_blob_restore_fn)(uint32_t replica_id, const void *from, size_t bytes, void *user_data);

/**
 * Registers state that the program has for each replica, such as a random generator, so that commits keep it.
 *
 * mdist_commit, the first run and mdist_regroup call @p save once for each local replica. mdist_regroup first calls
 * @p restore. Both are called on the thread that made the call. All workers register the same blobs. In a job of fixed
 * size nothing calls them.
 *
 * Errors: MDIST_ERR_INVALID_ARGUMENT, among others for a name that a living blob has, and if the blobs of a replica
 * together are larger than memory can be.
 * @param name            unique within the strategy
 * @param bytes           size of the state of one replica
 * @param free_user_data  called when the blob is gone, or at once if this fails; may be NULL
 * @thread any   @blocks no   @collective no   @calls-back free_user_data   @since 0.2
 */
MDIST_API mdist_status_t mdist_blob_create(mdist_strategy_t *strategy, const char *name, size_t bytes,
                                           mdist_blob_save_fn save, mdist_blob_restore_fn restore, void *user_data,
                                           mdist_free_fn free_user_data, mdist_blob_t **out, mdist_error_t **error);

/**
 * Frees a blob: later commits do not keep it. All workers destroy it between the same two commits. NULL is ignored.
 * @thread any   @blocks no   @collective no   @calls-back free_user_data   @since 0.2
 */
MDIST_API void mdist_blob_destroy(mdist_blob_t *blob);

#ifdef __cplusplus
}
#endif

#endif
