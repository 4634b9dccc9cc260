/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Strategy: one copy of the model per device, and the step that runs on each.
 *
 * A strategy owns the devices of this worker (this process). On each of them stands a replica, numbered by its replica
 * id over the whole job; the local replicas are those of this worker, counted from 0. mdist_run() calls your step once
 * per local replica, all at the same time. Inside the step you are in replica context and use the functions that take a
 * replica; everywhere else you are in cross-replica context and use those that take a strategy. Calling one in the
 * other's place is MDIST_ERR_WRONG_CONTEXT, and the message says what to call instead. (For replicas that you entered
 * yourself, step.h says what differs.)
 * (TensorFlow: tf.distribute.Strategy, Strategy.run, ReplicaContext.)
 */
#ifndef MDIST_STRATEGY_H
#define MDIST_STRATEGY_H

#include <mdist/config.h>
#include <mdist/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* mdist_strategy_t, the strategy's handle, is declared in value.h. */

/** A replica inside its step. The handle dies when the step returns, or by mdist_replica_exit. */
typedef struct mdist_replica mdist_replica_t;

/** What moves the bytes of one call. */
typedef enum mdist_implementation {
    MDIST_IMPLEMENTATION_AUTO      = 0, /* what the strategy has */
    MDIST_IMPLEMENTATION_RING      = 1, /* anything but NCCL; in a step, MDIST_ERR_UNSUPPORTED where that is used */
    MDIST_IMPLEMENTATION_NCCL      = 2, /* where the strategy uses it, else MDIST_ERR_UNSUPPORTED */
    MDIST_IMPLEMENTATION_PIN_INT32 = -0x7fffffff - 1
} mdist_implementation_t;

/**
 * Options of one call. NULL, or all zero but struct_size: the strategy's defaults. (TensorFlow: CommunicationOptions.)
 * With packs, a reduction of many buffers or values is cut into several operations, one after another: buffers of one
 * dtype, in the order of the call, until a pack is larger than @p bytes_per_pack. The result has the same bits. Each
 * operation is compared with the other replicas' and has the whole timeout; if one fails, those before it are done.
 * mdist_all_reduce, mdist_strategy_all_reduce, mdist_reduce without axes, mdist_reduce_to and mdist_batch_reduce_to
 * take packs; collectives that are started refuse them, others have no use for them.
 */
typedef struct mdist_call_options {
    uint32_t struct_size;    /* sizeof(mdist_call_options_t) as you were compiled */
    uint32_t flags;          /* must be 0 */
    uint64_t timeout_ns;     /* for each wait for other replicas; 0: the run's, or `communication.timeout` */
    int64_t  bytes_per_pack; /* 0: as `communication.bytes_per_pack` and `communication.num_packs` say */
    int32_t  implementation; /* mdist_implementation_t */
    uint32_t reserved;       /* must be 0 */
} mdist_call_options_t;

/**
 * Creates a strategy from @p config, or from the environment if it is NULL. The replicas' threads start here, and
 * `log.level` takes effect, if it is set.
 * Where that names other workers (docs/configuration.md; a config that you made looks at the environment only if it was
 * loaded with mdist_config_load_environment), this is when they meet: it returns when all have come, or fails on all.
 * MDIST_ERR_TIMEOUT after `communication.join_timeout` names those who are missing. Workers that are configured
 * differently, or have another number of replicas, are MDIST_ERR_CONFIG.
 * Fails with MDIST_ERR_UNSUPPORTED, saying why, where the config names devices that this build or host lacks; never
 * falls back to a smaller world in silence. (TensorFlow: MirroredStrategy, MultiWorkerMirroredStrategy.)
 * @thread any   @blocks for the other workers, and on the config file if NULL   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_strategy_create(const mdist_config_t *config, mdist_strategy_t **out,
                                               mdist_error_t **error);

/**
 * Ends all collectives of the strategy, on all workers: waiting calls return MDIST_ERR_ABORTED now, and later runs,
 * collectives, reductions and gathers at once, as after a timeout. Variables, values and datasets go on working, so
 * that one can save what there is. Steps run on to their own end. A bad handle is ignored. Takes a lock: not for
 * signal handlers.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_strategy_abort(mdist_strategy_t *strategy);

/**
 * MDIST_OK while collectives can go on; else what ended them all, as the first call in it was told: MDIST_ERR_PEER_LOST
 * with mdist_error_worker, MDIST_ERR_TIMEOUT, MDIST_ERR_ABORTED ... A look at what this worker knows: workers hear of
 * each other all the time (`communication.heartbeat_timeout`), so a lost one is seen here without any collective.
 * (TensorFlow: check_health.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_strategy_check_health(const mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Gives the handle back. Calls under way in other threads are aborted and finish; the last of them frees the rest, so
 * this one never waits for them. Variables, values and datasets may be destroyed before or after. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_strategy_destroy(mdist_strategy_t *strategy);

/**
 * Replicas in the whole job (TensorFlow: num_replicas_in_sync); 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_strategy_replica_count(const mdist_strategy_t *strategy);

/**
 * Replicas of this worker; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_strategy_local_replica_count(const mdist_strategy_t *strategy);

/**
 * Workers of the job: 1 where this one is alone, also for an evaluator; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_strategy_worker_count(const mdist_strategy_t *strategy);

/**
 * This worker's rank, from 0; its replicas have the ids rank * local replicas and following. -1 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_strategy_worker(const mdist_strategy_t *strategy);

/**
 * 1 on the one worker that does for all what is done once: writes checkpoints and summaries, prints (TensorFlow:
 * should_checkpoint, should_save_summary). That is rank 0, the chief; a worker that is alone; an evaluator. Else 0,
 * also for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_strategy_is_chief(const mdist_strategy_t *strategy);

/**
 * Name of the device under a local replica ("cpu:1"); text, capacity and needed as in mdist_config_get.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_strategy_device(const mdist_strategy_t *strategy, uint32_t local_replica, char *text,
                                               size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Your computation, once per local replica. With `executor: threads` all run at the same time, local replica 0 on the
 * thread that called mdist_run and the others on threads of the library; with `executor: caller` one after another on
 * the calling thread, and whatever waits for other replicas (collectives, merges, creating a variable, assigning to one
 * that is aggregated) is MDIST_ERR_FAILED_PRECONDITION, reason `executor_caller`, unless there is one replica. Returns
 * 0, or any other number to fail the run, which mdist_error_native then gives if that was the first cause. May call any
 * function of replica context.
 */
typedef int32_t (*mdist_step_fn)(mdist_replica_t *replica, void *user_data);

/**
 * Runs @p step on every local replica and returns when all have returned: user code is never cut off.
 *
 * The first failure (a step that returned non-zero, threw or ended its thread, or a collective in it that failed)
 * releases all replicas that wait in a collective, and is what this call returns; the strategy can be used again,
 * unless a collective ended by timeout or abort, or there are other workers: a failed run ends the job's collectives on
 * all of them, since they may have come to different places. (They get MDIST_ERR_ABORTED with the same sentence.) To go
 * on, all create a strategy anew.
 * Called inside a merge (mdist_merge_call) it runs a nested step on the same replicas. Called in a step it is
 * MDIST_ERR_WRONG_CONTEXT; while another thread runs this strategy, MDIST_ERR_FAILED_PRECONDITION.
 *
 * @param options    timeout_ns is for the collectives of this run that give none of their own
 * @param arguments  values that a step reads by mdist_replica_argument; each replica sees its own tensor of a
 *                   per-replica or mirrored value, and all see the one of a plain value. May be NULL if the count is 0.
 * @param results    receives @p result_count values set by mdist_replica_set_result: plain with one local replica, else
 *                   per-replica; NULL where no replica set one. Some setting and some not is MDIST_ERR_MISMATCH. One
 *                   that was set by mdist_replica_set_result_at is a structure; every replica sets the same paths.
 * @thread one at a time per strategy   @blocks until every step has returned   @collective no
 * @calls-back step, as its type says   @since 0.1
 */
MDIST_API mdist_status_t mdist_run(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data,
                                   mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results,
                                   size_t result_count, const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Computes element @p element of mdist_map, in the step of the replica that it fell to: reads arguments and sets
 * results as a step does, the same results for every element. The handle dies with the call. Returns 0, or any other
 * number to fail the run.
 */
typedef int32_t (*mdist_element_fn)(mdist_replica_t *replica, uint64_t element, void *user_data);

/**
 * Calls @p function for elements 0 to @p count - 1, element i on replica i mod mdist_strategy_replica_count: all
 * replicas of the job at the same time, each one element after another. (Elements are numbers; what they stand for is
 * the function's to know, say rows of an argument.) Results are stacked along a new first axis, a row for each element
 * of a replica, so that mdist_reduce over axis 0 takes all elements together: MEAN divides by @p count.
 * (TensorFlow: DistributionStrategy.map and its MapOutput.)
 * Collectives and merges have no place in @p function: replicas have different numbers of elements.
 * @param count      the same on all workers; where there are results, enough to give every worker an element
 * @param arguments  plain and mirrored values, since an element must not see which replica it fell to
 * @param results    as in mdist_run, stacked; no rows for a replica without elements. Elements of different types,
 *                   shapes or paths are MDIST_ERR_MISMATCH.
 * @thread one at a time per strategy   @blocks until the last element is done   @collective no
 * @calls-back function, as a step of mdist_run   @since 0.1
 */
MDIST_API mdist_status_t mdist_map(mdist_strategy_t *strategy, uint64_t count, mdist_element_fn function,
                                   void *user_data, mdist_value_t *const *arguments, size_t argument_count,
                                   mdist_value_t **results, size_t result_count, const mdist_call_options_t *options,
                                   mdist_error_t **error);

/**
 * Replica id, 0 to mdist_replica_count - 1 over the whole job; -1 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_replica_id(const mdist_replica_t *replica);

/**
 * Index among this worker's replicas; -1 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_replica_local_index(const mdist_replica_t *replica);

/**
 * Replicas in the whole job; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_replica_count(const mdist_replica_t *replica);

/**
 * Describes this replica's tensor of argument @p index of the run, which lies where the value has it: device_kind says
 * whether on a GPU. Borrowed until the step returns, or as long as that value lives; only read it.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_argument(mdist_replica_t *replica, size_t index, mdist_tensor_t *out,
                                                mdist_error_t **error);

/**
 * The same of an argument that is a structure: this replica's tensor at @p path ("grads.0"). MDIST_ERR_NOT_FOUND lists
 * what there is. An argument without structure has the path "".
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_argument_at(mdist_replica_t *replica, size_t index, const char *path,
                                                   mdist_tensor_t *out, mdist_error_t **error);

/**
 * Sets this replica's part of result @p index of the run to a copy of @p tensor. The last call counts.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_set_result(mdist_replica_t *replica, size_t index, const mdist_tensor_t *tensor,
                                                  mdist_error_t **error);

/**
 * Sets one leaf of a result that is a structure. The paths that a step sets must make one (value.h), the same on every
 * replica; that is checked when all have returned. The last call for a path counts; "" is mdist_replica_set_result.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_set_result_at(mdist_replica_t *replica, size_t index, const char *path,
                                                     const mdist_tensor_t *tensor, mdist_error_t **error);

/**
 * Runs once for all local replicas, in cross-replica context, on the thread of local replica 0. @p arguments are the
 * replicas' tensors, regrouped; they die with the call. Each result that it sets in @p results is a value it made and
 * hands over, also if it fails; one that it leaves alone is a result nobody gets. Returns 0, or any other number to
 * fail the run, as a step does. May call any function of cross-replica context.
 */
typedef int32_t (*mdist_merge_fn)(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                                  mdist_value_t **results, size_t result_count, void *user_data);

/**
 * Pauses every local replica, calls replica 0's @p merge once, and hands each replica its own part of the results.
 * Inside, functions of cross-replica context are the right ones, a nested mdist_run too, whose step may merge again.
 * @param arguments  this replica's tensors (copied); the same count and dtypes on every replica. One that was set by
 *                   mdist_replica_set_merge_argument_at is not read here; NULL if all were.
 * @param results    receives @p result_count descriptions, borrowed until this replica's next merge or the step's end;
 *                   data NULL and dtype 0 for a structure (mdist_replica_merge_result_at) and for a result that the
 *                   merge left alone
 * @thread replica   @blocks until every local replica has called it and the merge is done
 * @collective local replicas   @calls-back merge, on the thread of local replica 0   @since 0.1
 */
MDIST_API mdist_status_t mdist_merge_call(mdist_replica_t *replica, mdist_merge_fn merge, void *user_data,
                                          const mdist_tensor_t *arguments, size_t argument_count,
                                          mdist_tensor_t *results, size_t result_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Sets one leaf of argument @p index of this replica's next merge, of either kind, to a copy of @p tensor; the merge
 * sees a structure there. Every replica sets the same paths, else MDIST_ERR_MISMATCH from the run. The last call for a
 * path counts; the next merge takes all that was set, and refuses what is beyond its arguments.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_set_merge_argument_at(mdist_replica_t *replica, size_t index, const char *path,
                                                             const mdist_tensor_t *tensor, mdist_error_t **error);

/**
 * Describes this replica's tensor at @p path in result @p index of its last merge, borrowed as that one's results are.
 * MDIST_ERR_NOT_FOUND lists what there is; a result without structure has the path "".
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_merge_result_at(mdist_replica_t *replica, size_t index, const char *path,
                                                       mdist_tensor_t *out, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
