/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Variable: named state with one copy per replica, such as the weights of a model.
 *
 * Example, with a tensor `numbers` of six numbers:
 *
 *     static int32_t add(mdist_replica_t *replica, void *total) { // sums over replicas, and changes every copy
 *         return mdist_replica_assign(replica, total, MDIST_ASSIGN_ADD, &numbers, NULL, NULL);
 *     }
 *     mdist_variable_options_t options = {sizeof options, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_SUM, 0, NULL};
 *     mdist_variable_t *total = NULL;
 *     mdist_variable_create(strategy, "total", &numbers, &total, &options, &error);
 *     mdist_run(strategy, add, total, NULL, &error); // now total is three times numbers
 *
 * - A mirrored variable (synchronization ON_WRITE) with aggregation SUM, MEAN or ONLY_FIRST_REPLICA stays equal on all
 *   replicas. A write inside a step reduces what the replicas write, and applies the result to every copy. With NONE,
 *   the default, a write inside a step changes only the replica's own copy.
 * - A sync-on-read variable (ON_READ) lets copies differ. Reading it outside of steps aggregates them.
 *
 * Steps compute directly on the memory of their copy. It never moves, except by mdist_regroup. The library touches that
 * memory only inside calls with that variable: in a step the replica's own copy, else all copies. (TensorFlow:
 * tf.Variable under a strategy; behaviour of versions 2.4 and later.)
 */
#ifndef MDIST_VARIABLE_H
#define MDIST_VARIABLE_H

#include <mdist/collective.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_variable mdist_variable_t;

typedef enum mdist_synchronization {
    MDIST_SYNC_AUTO       = 0, /* ON_WRITE */
    MDIST_SYNC_ON_WRITE   = 1,
    MDIST_SYNC_ON_READ    = 2,
    MDIST_SYNC_PIN_INT32  = -0x7fffffff - 1
} mdist_synchronization_t;

typedef enum mdist_aggregation {
    MDIST_AGGREGATION_NONE               = 0, /* a write in a step changes only the replica's own copy */
    MDIST_AGGREGATION_SUM                = 1, /* not for bool */
    MDIST_AGGREGATION_MEAN               = 2, /* floating-point variables only */
    MDIST_AGGREGATION_ONLY_FIRST_REPLICA = 3,
    MDIST_AGGREGATION_PIN_INT32          = -0x7fffffff - 1
} mdist_aggregation_t;

/** How a write changes a variable. A bool variable takes SET and, for rows, MIN and MAX. */
typedef enum mdist_assign {
    MDIST_ASSIGN_SET       = 1,
    MDIST_ASSIGN_ADD       = 2,
    MDIST_ASSIGN_SUB       = 3,
    MDIST_ASSIGN_MUL       = 4, /* MUL, DIV, MIN and MAX are for rows only */
    MDIST_ASSIGN_DIV       = 5, /* integers: rounds towards zero; division by 0 is an error */
    MDIST_ASSIGN_MIN       = 6,
    MDIST_ASSIGN_MAX       = 7,
    MDIST_ASSIGN_PIN_INT32 = -0x7fffffff - 1
} mdist_assign_t;

/** Options of a variable. NULL, or all fields but struct_size zero: mirrored, aggregation NONE. */
typedef struct mdist_variable_options {
    uint32_t struct_size;     /* sizeof(mdist_variable_options_t) as you were compiled */
    int32_t  synchronization; /* mdist_synchronization_t */
    int32_t  aggregation;     /* mdist_aggregation_t */
    int32_t  reserved;        /* must be 0 */
    const mdist_variable_t *colocate_with; /* NULL, or a variable of the same strategy. It is only checked, since every
                                              variable has a copy on each device of the strategy. */
} mdist_variable_options_t;

/**
 * Creates a variable with a copy of @p initial on every replica (zeros if its data is NULL).
 *
 * Worker 0's @p initial counts on all workers, so the others' may hold anything of the same dtype and shape. Memory of
 * your own that is no variable, such as weights of another library, must be made equal by you: see mdist_broadcast.
 *
 * Variables of one dtype lie side by side in one arena per replica: see mdist_variable_arena. In a step, use
 * mdist_replica_variable_create.
 * @param name  for messages and checkpoints; not empty, and unique within the strategy
 * @thread one at a time per strategy   @blocks until all workers have the initial value   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_create(mdist_strategy_t *strategy, const char *name,
                                               const mdist_tensor_t *initial, mdist_variable_t **out,
                                               const mdist_variable_options_t *options, mdist_error_t **error);

/**
 * Creates a variable from inside a step.
 *
 * Every replica makes the same call (name, shape, dtype, options). Replica 0's @p initial is the initial value on all
 * replicas, even if it is random. Each replica receives its own handle to the variable. The variable is freed with the
 * last handle.
 * @thread replica   @blocks until every replica has called it   @collective all replicas
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_variable_create(mdist_replica_t *replica, const char *name,
                                                       const mdist_tensor_t *initial, mdist_variable_t **out,
                                                       const mdist_variable_options_t *options, mdist_error_t **error);

/**
 * Writes a variable outside of steps.
 *
 * - It writes the copies of this worker. Call it with equal values on all workers, else their copies differ.
 * - A plain or mirrored value goes to every copy.
 * - Each tensor of a per-replica value goes to its own copy; the copies then differ.
 * - A value of rows (mdist_value_sparse) writes those rows of the copies and no others, as mdist_replica_assign_sparse
 *   does.
 * - Inside mdist_update's function the call writes only the copy at hand, from that copy's tensor of the value.
 *
 * Sync-on-read variables with aggregation SUM are special. SET gives each of N copies 1/N of its tensor (integers:
 * rounded towards zero), so that reading gives the tensor back. ADD and SUB are MDIST_ERR_FAILED_PRECONDITION.
 * (Creation does not divide: every copy starts with the initial value.)
 * @thread one at a time per strategy   @blocks for the copy, on GPUs; on the client of an in-graph job: for the other
 * workers   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_assign(mdist_variable_t *variable, mdist_assign_t assign,
                                               const mdist_value_t *value, mdist_error_t **error);

/**
 * Writes a variable inside a step.
 *
 * Mirrored variables, by aggregation:
 * - SUM and MEAN: the replicas' tensors are reduced, and the result is applied once to every copy. All replicas must
 *   call.
 * - ONLY_FIRST_REPLICA: replica 0's tensor is applied to every copy. All replicas must call.
 * - NONE: only this replica's copy changes, and no other replica takes part.
 *
 * Sync-on-read variables: only this replica's copy changes, and no other replica takes part.
 * @thread replica   @blocks as mdist_all_reduce where replicas take part   @collective all replicas, or no
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_assign(mdist_replica_t *replica, mdist_variable_t *variable,
                                              mdist_assign_t assign, const mdist_tensor_t *tensor,
                                              const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Writes rows of a variable inside a step: row i of @p values goes into row indices[i].
 *
 * The rows are applied one after another in their order; an index may come twice. (TensorFlow: scatter_update, _add,
 * _sub, _mul, _div, _min, _max.)
 *
 * Mirrored variables, by aggregation:
 * - NONE: this replica's rows go into its own copy.
 * - ONLY_FIRST_REPLICA: replica 0's rows go into every copy.
 * - SUM: the rows of all replicas, in replica order, go into every copy.
 * - MEAN: as SUM, with each row divided by the number of replicas.
 *
 * With ONLY_FIRST_REPLICA, SUM and MEAN every replica must call, with any number of rows.
 * - MDIST_ERR_UNSUPPORTED, reason `sparse_aggregation`: SET, MIN or MAX with aggregation SUM or MEAN
 * - MDIST_ERR_UNSUPPORTED, reason `sparse_on_read`: the variable is sync-on-read
 * - MDIST_ERR_INVALID_ARGUMENT: the variable has no row of some index; nothing is written
 * @param indices  int64 [k]
 * @param values   [k, ...]: the variable's shape, except for the first dimension
 * @thread replica   @blocks as mdist_all_reduce where replicas take part   @collective all replicas, or no
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_assign_sparse(mdist_replica_t *replica, mdist_variable_t *variable,
                                                     mdist_assign_t assign, const mdist_tensor_t *indices,
                                                     const mdist_tensor_t *values, const mdist_call_options_t *options,
                                                     mdist_error_t **error);

/**
 * Reads a variable outside of steps, as a plain value (a copy in host memory).
 *
 * - Mirrored: gives copy 0.
 * - Sync-on-read with SUM or MEAN: aggregates the copies of all replicas.
 * - Sync-on-read with ONLY_FIRST_REPLICA: gives the copy of replica 0 of the job, on all workers.
 * - Sync-on-read with NONE: MDIST_ERR_FAILED_PRECONDITION.
 *
 * In a step, read the memory of mdist_variable_tensor instead.
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers for sync-on-read
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_read(mdist_variable_t *variable, mdist_value_t **out,
                                             const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Makes mdist_variable_read return cached results until mdist_cached_reads_exit.
 *
 * Each variable of the strategy keeps giving what its first read gave, whatever is written later. Later reads do not
 * ask other workers. Use this if you read the same numbers in many places.
 * - It does not nest: MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`.
 * - All workers must enter and leave at the same points: a worker that reads from its cache does not join a read that
 *   others wait for.
 * - A client that leads other workers (serve.h) caches its own reads.
 * - In a step a read is a look at memory. Keep a copy of it instead.
 * - Checkpoints are saved from the variables themselves.
 *
 * (TensorFlow: cache_variable_reads.)
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cached_reads_enter(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Ends what mdist_cached_reads_enter began.
 *
 * Without mdist_cached_reads_enter it is MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cached_reads_exit(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Describes the copy of a local replica, which lies on its device.
 *
 * It is borrowed until the variable is destroyed. Its address stays the same, but ask again after mdist_regroup
 * (elastic.h). You may read and write it as you like,
 * from one thread at a time. (On a GPU, use kernels and copies: see <mdist/gpu.h>.) If you write a mirrored variable
 * this way, you must keep its copies equal.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_tensor(const mdist_variable_t *variable, uint32_t local_replica,
                                               mdist_tensor_t *out, mdist_error_t **error);

/**
 * Returns the name of a variable, borrowed; "" for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_variable_name(const mdist_variable_t *variable);

/**
 * Gives all variables of @p dtype of a local replica as one buffer, so that one call can reduce or update all of them.
 *
 * - Variables lie in order of creation, but a new one may take the place of a destroyed one.
 * - Each starts at a multiple of 64 bytes, at the address of mdist_variable_tensor. The offset is the same on every
 *   replica.
 * - The gaps hold zeros unless you write there.
 * - The arena holds mirrored and sync-on-read variables. Reducing it makes sync-on-read copies equal, too.
 * - It is borrowed until the strategy and its variables are gone. New variables make it longer; it never moves.
 * - Without a variable of that dtype: data NULL, no elements.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_arena(const mdist_strategy_t *strategy, mdist_dtype_t dtype,
                                              uint32_t local_replica, mdist_buffer_t *out, mdist_error_t **error);

/**
 * Finds the variable that holds the memory at @p address, and the local replica whose copy it is.
 *
 * This is for functions that see tensors only. If no variable of this strategy holds the address, it is
 * MDIST_ERR_NOT_FOUND. (TensorFlow: value_container, variable_created_in_scope.)
 * @param out            receives your own handle to the variable, which is freed with the last of its handles
 * @param local_replica  may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_at_address(const mdist_strategy_t *strategy, const void *address,
                                                   mdist_variable_t **out, uint32_t *local_replica,
                                                   mdist_error_t **error);

/**
 * Finds a variable by its name, no matter who created it, even in a step.
 *
 * MDIST_ERR_NOT_FOUND lists the names there are.
 * @param out  receives your own handle to the variable, which is freed with the last of its handles
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_named(const mdist_strategy_t *strategy, const char *name,
                                              mdist_variable_t **out, mdist_error_t **error);

/**
 * Changes one copy of a variable, in update context.
 *
 * - @p copy is the memory of the copy. On a GPU, change it with kernels; their work must be done when the function
 *   returns.
 * - @p arguments holds, for each argument, the tensor that belongs to the copy, on the host or on the copy's own GPU.
 *   An argument that is a structure brings the tensors of its leaves, one after another in the order of their paths. So
 *   @p argument_count counts tensors.
 * - Each result set in @p results is a plain value, or a structure of plain values, that the function made and hands
 *   over, even if it fails.
 * - It returns 0, or any other number to fail the update; mdist_error_native then gives the number.
 * - It runs on the thread that called mdist_update.
 * - It may call any function of cross-replica context. mdist_variable_assign writes only the copy at hand there.
 */
typedef int32_t (*mdist_update_fn)(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                                   size_t argument_count, mdist_value_t **results, size_t result_count,
                                   void *user_data);

/**
 * Calls @p update for each local copy, one after another (TensorFlow: StrategyExtended.update).
 *
 * It stops at the first failure. Copies that were already changed stay changed. In a step, call mdist_merge_call first.
 * @param io  timeout_ns must be 0. Results are the results of all copies, regrouped leaf by leaf as those of mdist_run.
 * @thread one at a time per strategy   @blocks until the last copy is done   @collective no
 * @calls-back update, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_update(mdist_variable_t *variable, mdist_update_fn update, void *user_data,
                                      const mdist_run_io_t *io, mdist_error_t **error);

/**
 * Calls @p update once per device of the strategy, with NULL for the copy.
 *
 * Use it for state that belongs to no single variable, such as an optimizer's step counter. All else is as in
 * mdist_update. (TensorFlow: StrategyExtended.update_non_slot, non_slot_devices.)
 * @thread one at a time per strategy   @blocks until the last device is done   @collective no
 * @calls-back update, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_update_devices(mdist_strategy_t *strategy, mdist_update_fn update, void *user_data,
                                              const mdist_run_io_t *io, mdist_error_t **error);

/**
 * Destroys a handle; the last handle frees the variable and its place in the arenas.
 *
 * The place is zeroed, and the next variable may take it. Addresses from mdist_variable_tensor are invalid from then
 * on, so do not call this while a step uses the variable. NULL is ignored.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_variable_destroy(mdist_variable_t *variable);

#ifdef __cplusplus
}
#endif

#endif
