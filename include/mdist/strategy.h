/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Strategy: the devices of this worker, one replica per device, and the steps that run on them.
 *
 * Example:
 *
 *     static int32_t greet(mdist_replica_t *replica, void *user_data) {
 *         printf("%s from replica %u\n", (const char *)user_data, mdist_replica_id(replica));
 *         return 0;
 *     }
 *     mdist_strategy_t *strategy = NULL;
 *     mdist_strategy_create(NULL, &strategy, &error); // with MDIST_DEVICES=cpu*2 in the environment: two replicas
 *     mdist_run(strategy, greet, "hello", NULL, &error);
 *
 * A strategy owns the devices of this worker (this process). Each device carries one replica, with its own copy of the
 * model. A replica id counts over the whole job. The local replicas are those of this worker, counted from 0.
 *
 * mdist_run() calls your step once per local replica, all at the same time (but see `executor` at mdist_step_fn).
 * - Inside the step you are in replica context: use the functions that take a replica.
 * - Everywhere else you are in cross-replica context: use the functions that take a strategy.
 * - A call in the wrong context is MDIST_ERR_WRONG_CONTEXT. The message says what to call instead.
 *
 * For replicas that you enter yourself, threads.h says what differs.
 *
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

/** A replica inside its step. The handle dies when the step returns, or with mdist_replica_exit. */
typedef struct mdist_replica mdist_replica_t;

/** Some replicas with collectives of their own (<mdist/group.h>). */
typedef struct mdist_group mdist_group_t;

/** The implementation that moves the bytes of one call. */
typedef enum mdist_implementation {
    MDIST_IMPLEMENTATION_AUTO      = 0, /* the strategy's */
    MDIST_IMPLEMENTATION_RING      = 1, /* not NCCL; in a step, MDIST_ERR_UNSUPPORTED if the strategy uses NCCL */
    MDIST_IMPLEMENTATION_NCCL      = 2, /* NCCL; MDIST_ERR_UNSUPPORTED if the strategy does not use it */
    MDIST_IMPLEMENTATION_PIN_INT32 = -0x7fffffff - 1
} mdist_implementation_t;

/**
 * Options of one call. NULL, or all fields but struct_size zero: the strategy's defaults. (TensorFlow:
 * CommunicationOptions.)
 *
 * @p timeout_ns limits the time without progress of the workers that the call waits for. A worker makes progress when
 * the first message of its call comes, and then with each whole message or whole 1 MiB of a longer one; fewer bytes do
 * not count. So a call may take many times its limit while bytes move, and a connection that needs longer than the
 * limit for 1 MiB fails. Among the replicas of one process, and in NCCL, the limit is for the whole wait.
 * `communication.call_timeout` limits an operation as a whole.
 *
 * Packs cut a reduction of many buffers or values into several operations, one after another.
 * - A pack takes buffers of one dtype, in the order of the call, until it is larger than @p bytes_per_pack.
 * - The result has the same bits with and without packs.
 * - The library compares each operation with those of the other replicas.
 * - Each operation has the whole timeout. If one fails, those before it are done.
 * - These calls take packs: mdist_all_reduce, mdist_strategy_all_reduce, mdist_strategy_reduce without axes, and
 *   mdist_strategy_reduce_to. mdist_collective_start refuses them. Other calls do not use them.
 */
typedef struct mdist_call_options {
    uint32_t struct_size;       /* sizeof(mdist_call_options_t) as you were compiled */
    uint32_t flags;             /* must be 0 */
    uint64_t timeout_ns;        /* limit of a wait without progress; 0: the run's, or `communication.timeout` */
    int64_t  bytes_per_pack;    /* 0: `communication.bytes_per_pack` and `communication.num_packs` decide */
    int32_t  implementation;    /* mdist_implementation_t */
    uint32_t reserved;          /* must be 0 */
    const mdist_group_t *group; /* NULL: all replicas. Else only for the collectives of a step, see <mdist/group.h> */
} mdist_call_options_t;

/**
 * Creates a strategy from @p config, or from the environment if @p config is NULL.
 *
 * The replicas' threads start here. `log.level` takes effect here, if it is set.
 *
 * If the configuration names other workers, the workers meet in this call. It returns when all have come. A worker
 * that is refused fails at once; the others wait for the right one until `communication.join_timeout`.
 * (docs/reference/clusters.md says how to name workers. A config that you made looks at the environment only if
 * mdist_config_load_environment loaded it. If it did not, and names no other workers, workers that the environment
 * tells of would each train alone: after `mdist launch` that is MDIST_ERR_CONFIG, reason `unread`, and a warning after
 * other launchers. The key `strategy: mirrored`, or MDIST_BOOTSTRAP=single, says that it is meant.)
 *
 * - MDIST_ERR_TIMEOUT: some workers did not come within `communication.join_timeout`; the message names them
 * - MDIST_ERR_CONFIG: workers have different configurations or different numbers of replicas, or belong to two runs
 *   (`different_run`)
 * - MDIST_ERR_UNAUTHENTICATED: this worker has no secret, or not the job's; or the job has none, is elastic, and takes
 *   nobody any more (`closed`)
 * - MDIST_ERR_FAILED_PRECONDITION, reasons `duplicate_rank` and `stale_session`: another process has this rank, or the
 *   job has been started again without this worker
 * - MDIST_ERR_NOT_FOUND, reason `name_resolution`; MDIST_ERR_RESOURCE, reason `address_in_use`: the address where the
 *   workers meet is unknown, or taken
 * - MDIST_ERR_UNSUPPORTED: the config names devices that this build or host lacks; the message says why. The library
 *   never falls back to fewer devices silently.
 *
 * (TensorFlow: MirroredStrategy, MultiWorkerMirroredStrategy.)
 * @thread any   @blocks for the other workers, and on the config file if NULL   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_strategy_create(const mdist_config_t *config, mdist_strategy_t **out,
                                               mdist_error_t **error);

/**
 * Ends all collectives of the strategy, on all workers.
 *
 * - Waiting calls return MDIST_ERR_ABORTED now. Later runs, collectives, reductions and gathers return it at once, as
 *   after a timeout.
 * - Variables, values and datasets keep working, so that you can save them.
 * - Steps run on to their own end.
 * - A bad handle is ignored.
 * - The function takes a lock: do not call it in a signal handler.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_strategy_abort(mdist_strategy_t *strategy);

/**
 * Returns MDIST_OK while collectives can go on, else the error that ended them.
 *
 * That error is the one that the first failed call got: MDIST_ERR_PEER_LOST with mdist_error_rank, MDIST_ERR_TIMEOUT,
 * MDIST_ERR_ABORTED ... The function only reads what this worker knows. Workers exchange heartbeats all the time
 * (`communication.heartbeat_timeout`), so a lost worker shows up here without any collective. (TensorFlow:
 * check_health.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_strategy_check_health(const mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Destroys the strategy without waiting for anything.
 *
 * Calls under way in other threads are aborted and finish; the last of them frees the rest. You may destroy variables,
 * values and datasets before or after the strategy. NULL is ignored.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_strategy_destroy(mdist_strategy_t *strategy);

/**
 * Returns the number of replicas in the whole job (TensorFlow: num_replicas_in_sync); 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_strategy_replica_count(const mdist_strategy_t *strategy);

/**
 * Returns the number of replicas on this worker; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_strategy_local_replica_count(const mdist_strategy_t *strategy);

/**
 * Returns the number of workers in the job: 1 for a worker that is alone, and for an evaluator; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_strategy_worker_count(const mdist_strategy_t *strategy);

/**
 * Returns this worker's rank, from 0; MDIST_NONE for a bad handle.
 *
 * mdist_strategy_first_replica_id says where its replica ids begin.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_strategy_rank(const mdist_strategy_t *strategy);

/**
 * Returns the replica id of this worker's first local replica; MDIST_NONE for a bad handle.
 *
 * Local replica i has this id plus i. In an elastic job it changes with mdist_regroup.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API uint32_t mdist_strategy_first_replica_id(const mdist_strategy_t *strategy);

/**
 * Returns 1 on the one worker that does what is done once per job, else 0.
 *
 * That worker writes checkpoints and summaries, and prints (TensorFlow: should_checkpoint, should_save_summary). It is
 * rank 0, the chief. A worker that is alone, and an evaluator, get 1 too. A bad handle gives 0.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_strategy_is_chief(const mdist_strategy_t *strategy);

/**
 * Writes the name of a local replica's device ("cpu:1").
 *
 * text, capacity and needed work as in mdist_config_get.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_strategy_device(const mdist_strategy_t *strategy, uint32_t local_replica, char *text,
                                               size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * What goes into a run and comes out of it. NULL: nothing, and the strategy's limits. (mdist_run, mdist_map,
 * mdist_run_named, mdist_run_begin, mdist_update, mdist_update_devices, mdist_update_named.)
 *
 * @p results receives values that you own, also those that are NULL because nobody set them. They stay untouched if the
 * call fails.
 */
typedef struct mdist_run_io {
    uint32_t struct_size;            /* sizeof(mdist_run_io_t) as you were compiled */
    uint32_t flags;                  /* must be 0 */
    mdist_value_t *const *arguments; /* values that a step reads with mdist_replica_argument. Each replica sees its own
                                        tensor of a per-replica or mirrored value; all see that of a plain value */
    size_t argument_count;
    mdist_value_t **results; /* values that steps set with mdist_replica_set_result, or that updates make */
    size_t result_count;
    uint64_t timeout_ns; /* of the collectives of this run that give none of their own; 0: the strategy's.
                            0 for updates */
} mdist_run_io_t;

/**
 * Your computation. The library calls it once per local replica.
 *
 * It returns 0, or any other number to fail the run. If that was the first cause, mdist_error_native gives the number.
 * It may call any function of replica context.
 *
 * - `executor: threads`: all replicas run at the same time. Local replica 0 runs on the thread that called mdist_run,
 *   the others on threads of the library.
 * - `executor: caller`: the replicas run one after another on the calling thread. With more than one replica, calls
 *   that wait for other replicas are MDIST_ERR_FAILED_PRECONDITION, reason `executor_caller`. Such calls are
 *   collectives, merges, creating a variable, and assigning to a variable that is aggregated.
 */
typedef int32_t (*mdist_step_fn)(mdist_replica_t *replica, void *user_data);

/**
 * Runs @p step on every local replica and returns when all have returned.
 *
 * If steps fail, this call returns the first failure: a step that returned non-zero, threw or ended its thread, or a
 * collective in it that failed. A failure releases all replicas that wait in a collective. It never interrupts your
 * code.
 * - One worker: you can use the strategy again, unless a collective ended by timeout or abort.
 * - Several workers: a failed run ends the job's collectives on all of them, since they may have come to different
 *   places. The others get MDIST_ERR_ABORTED with the same message. To go on, all workers create a new strategy.
 * - But if all replicas of all workers refuse the same call in which they would wait for each other, for a wrong
 *   argument or name, only this run fails. Each call returns its own error when the others have come. The same goes for
 *   a merge that fails on all workers after they have refused the same call in it. The step must have no started
 *   operation and no round of gradients under way, and the run must have had no messages.
 *
 * Called inside a merge (mdist_merge_call), it runs a nested step on the same replicas.
 * - MDIST_ERR_WRONG_CONTEXT: called in a step
 * - MDIST_ERR_FAILED_PRECONDITION: another thread is running this strategy
 *
 * @param io  Its results are per-replica values, in every job; NULL for one that no replica set. If only some set it:
 *            MDIST_ERR_MISMATCH. A result that was set at paths is a structure; every replica must set the same paths.
 * @thread one at a time per strategy   @blocks until every step has returned
 * @collective no; the first run of an elastic job makes a commit: all workers
 * @calls-back step, as its type says; in that commit: the blobs' save functions   @since 0.1
 */
MDIST_API mdist_status_t mdist_run(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data,
                                   const mdist_run_io_t *io, mdist_error_t **error);

/**
 * Computes element @p element of mdist_map, in the step of the replica that got it.
 *
 * It reads arguments and sets results as a step does, the same results for every element. The handle dies with the
 * call. It returns 0, or any other number to fail the run.
 */
typedef int32_t (*mdist_element_fn)(mdist_replica_t *replica, uint64_t element, void *user_data);

/**
 * Calls @p function for elements 0 to @p count - 1, element i on replica i mod mdist_strategy_replica_count.
 *
 * All replicas of the job run at the same time, each one element after another. An element is a number. The function
 * decides what it stands for, for example a row of an argument.
 *
 * Results are stacked along a new first axis, one row per element of a replica. So mdist_strategy_reduce over axis 0
 * takes all elements together: MEAN divides by @p count. (TensorFlow: DistributionStrategy.map and its MapOutput.)
 *
 * @p function must not call collectives or merges, because replicas have different numbers of elements.
 * @param count  the same on all workers; if there are results, large enough to give every worker an element
 * @param io     Arguments are plain and mirrored values only, since an element must not depend on its replica. Results
 *               are as in mdist_run, stacked; no rows for a replica without elements. Elements of different types,
 *               shapes or paths are MDIST_ERR_MISMATCH.
 * @thread one at a time per strategy   @blocks until the last element is done   @collective no
 * @calls-back function, as a step of mdist_run   @since 0.1
 */
MDIST_API mdist_status_t mdist_map(mdist_strategy_t *strategy, uint64_t count, mdist_element_fn function,
                                   void *user_data, const mdist_run_io_t *io, mdist_error_t **error);

/**
 * Returns the replica id, 0 to mdist_replica_count - 1 over the whole job; MDIST_NONE for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_replica_id(const mdist_replica_t *replica);

/**
 * Returns the replica's index among this worker's replicas; MDIST_NONE for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_replica_local_index(const mdist_replica_t *replica);

/**
 * Returns the number of replicas in the whole job; 0 for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_replica_count(const mdist_replica_t *replica);

/**
 * Describes this replica's tensor of argument @p index of the run.
 *
 * The tensor lies where the value has it: on the host, or on the replica's own GPU (device_kind says which). If the
 * value has it on another GPU, this gives a copy on the replica's device, made once per run. It is borrowed until the
 * step returns, or longer if it is the value's and the value lives longer. Only read it.
 * @param path  the path of a leaf ("grads.0"), if the argument is a structure (value.h); else NULL or "". For a path
 *              that does not exist the error is MDIST_ERR_NOT_FOUND, and its message lists the paths there are.
 * @thread replica   @blocks for a copy from another GPU   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_argument(mdist_replica_t *replica, size_t index, const char *path,
                                                mdist_tensor_t *out, mdist_error_t **error);

/**
 * Sets this replica's part of result @p index of the run to a copy of @p tensor.
 *
 * The last call for a path counts. The paths that a step sets must form a structure, the same on every replica. The
 * library checks this when all steps have returned.
 * @param path  the path of the leaf to set, if the result is a structure (value.h); else NULL or ""
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_set_result(mdist_replica_t *replica, size_t index, const char *path,
                                                  const mdist_tensor_t *tensor, mdist_error_t **error);

/**
 * Runs once for all local replicas, in cross-replica context, on the thread of local replica 0.
 *
 * - @p arguments are the replicas' tensors, regrouped. They die with the call.
 * - Each result set in @p results is a value that the function made and hands over, even if the function fails. A
 *   result that it does not set stays empty: no replica receives it.
 * - It returns 0, or any other number to fail the run, as a step does.
 * - It may call any function of cross-replica context.
 */
typedef int32_t (*mdist_merge_fn)(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                                  mdist_value_t **results, size_t result_count, void *user_data);

/**
 * Pauses every local replica, calls replica 0's @p merge once, and hands each replica its own part of the results.
 *
 * Inside @p merge, call functions of cross-replica context. A nested mdist_run is allowed, and its step may merge
 * again.
 * @param arguments  this replica's tensors (copied); the same count and dtypes on every replica. An argument set with
 *                   mdist_replica_set_merge_argument is not read here; NULL if all were.
 * @param results    receives @p result_count descriptions, borrowed until this replica's next merge or the step's end.
 *                   data is NULL and dtype 0 for a structure (mdist_replica_merge_result) and for a result that the
 *                   merge did not set.
 * @thread replica   @blocks until every local replica has called it and the merge is done
 * @collective local replicas   @calls-back merge, on the thread of local replica 0   @since 0.1
 */
MDIST_API mdist_status_t mdist_merge_call(mdist_replica_t *replica, mdist_merge_fn merge, void *user_data,
                                          const mdist_tensor_t *arguments, size_t argument_count,
                                          mdist_tensor_t *results, size_t result_count,
                                          const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Sets the leaf at @p path of argument @p index of this replica's next merge to a copy of @p tensor.
 *
 * The argument is then a structure (value.h). This works for mdist_merge_call and mdist_merge_begin. Every replica sets
 * the same paths, else the run fails with MDIST_ERR_MISMATCH. The last call for a path counts. The next merge takes
 * everything that was set, and refuses an index beyond its argument count.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_replica_set_merge_argument(mdist_replica_t *replica, size_t index, const char *path,
                                                          const mdist_tensor_t *tensor, mdist_error_t **error);

/**
 * Describes this replica's tensor at @p path in result @p index of its last merge.
 *
 * The tensor is borrowed as the results of that merge are, and lies where an argument would (mdist_replica_argument).
 * NULL or "" is the path of a result that is no structure.
 * For a path that does not exist the error is MDIST_ERR_NOT_FOUND, and its message lists the paths there are.
 * @thread replica   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_replica_merge_result(mdist_replica_t *replica, size_t index, const char *path,
                                                    mdist_tensor_t *out, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
