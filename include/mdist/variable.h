/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Variable: state with one copy per replica.
 *
 * A mirrored variable (synchronization ON_WRITE) is kept equal on all replicas: writing inside a step reduces what the
 * replicas write by the variable's aggregation and applies that to every copy. A sync-on-read variable (ON_READ) lets
 * copies differ, and aggregates when it is read outside of steps. Steps compute straight on their copy's memory, which
 * never moves; the library touches it inside of calls with that variable only: in a step the replica's own copy, else
 * all. (TensorFlow: tf.Variable under a strategy; behaviour of its versions 2.4 and later.)
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
    MDIST_AGGREGATION_NONE               = 0, /* written in a step: own copy only */
    MDIST_AGGREGATION_SUM                = 1,
    MDIST_AGGREGATION_MEAN               = 2, /* floating-point variables only */
    MDIST_AGGREGATION_ONLY_FIRST_REPLICA = 3,
    MDIST_AGGREGATION_PIN_INT32          = -0x7fffffff - 1
} mdist_aggregation_t;

typedef enum mdist_assign {
    MDIST_ASSIGN_SET       = 1,
    MDIST_ASSIGN_ADD       = 2,
    MDIST_ASSIGN_SUB       = 3,
    MDIST_ASSIGN_MUL       = 4, /* this one and the following are for rows only */
    MDIST_ASSIGN_DIV       = 5, /* integers: cut off towards zero; 0 is refused */
    MDIST_ASSIGN_MIN       = 6,
    MDIST_ASSIGN_MAX       = 7,
    MDIST_ASSIGN_PIN_INT32 = -0x7fffffff - 1
} mdist_assign_t;

/** Options of a variable. NULL, or all zero but struct_size: mirrored, aggregation NONE. */
typedef struct mdist_variable_options {
    uint32_t struct_size;     /* sizeof(mdist_variable_options_t) as you were compiled */
    int32_t  synchronization; /* mdist_synchronization_t */
    int32_t  aggregation;     /* mdist_aggregation_t */
    int32_t  reserved;        /* must be 0 */
    const mdist_variable_t *colocate_with; /* NULL, or a variable of the same strategy on whose devices to lie. Every
                                              variable has a copy on each of them, so it is only checked. */
} mdist_variable_options_t;

/**
 * Creates a variable with a copy of @p initial on every replica (zeros where its data is NULL).
 * Variables of one dtype lie side by side in one arena per replica: see mdist_variable_arena. In a step, use
 * mdist_replica_variable_create.
 * @param name  for messages and checkpoints; not empty; two variables of one strategy may not share it
 * @thread one at a time per strategy   @blocks until all workers have the initial value   @collective all workers
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_create(mdist_strategy_t *strategy, const char *name,
                                               const mdist_tensor_t *initial, mdist_variable_t **out,
                                               const mdist_variable_options_t *options, mdist_error_t **error);

/**
 * Creates a variable from inside a step. Every replica makes the same call (name, shape, dtype, options); replica 0's
 * @p initial is everybody's initial value, random ones too. Each receives a handle of its own to the same variable,
 * which goes with the last of them.
 * @thread replica   @blocks until every replica has called it   @collective all replicas
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_variable_create(mdist_replica_t *replica, const char *name,
                                                       const mdist_tensor_t *initial, mdist_variable_t **out,
                                                       const mdist_variable_options_t *options,
                                                       mdist_error_t **error);

/**
 * Writes from outside of steps. A plain or mirrored value goes to every copy; the tensors of a per-replica value go
 * each to its own copy, which then differ. Sync-on-read with SET and aggregation SUM: each of N copies receives 1/N of
 * its tensor (integers: cut off towards zero), so that reading gives it back; ADD and SUB are
 * MDIST_ERR_FAILED_PRECONDITION with SUM. (Creation does not divide: every copy starts with the initial value.)
 * Inside mdist_update's function, writes the copy at hand only, by its own tensor of the value.
 * A value of rows (mdist_value_rows) writes those rows of the copies and leaves the others alone, as
 * mdist_replica_assign_rows does.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_assign(mdist_variable_t *variable, mdist_assign_t assign,
                                               const mdist_value_t *value, mdist_error_t **error);

/**
 * Writes from inside a step. Mirrored with SUM or MEAN: the replicas' tensors are reduced, and the result is applied
 * once to every copy; ONLY_FIRST_REPLICA: replica 0's tensor is. Those three need every replica to call. Mirrored with
 * NONE, and sync-on-read: only this replica's copy, nobody else takes part.
 * @thread replica   @blocks as mdist_all_reduce where replicas take part   @collective all replicas, or no
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_assign(mdist_replica_t *replica, mdist_variable_t *variable,
                                              mdist_assign_t assign, const mdist_tensor_t *tensor,
                                              const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Writes rows from inside a step: row i of @p values into row indices[i] of the copy, one after another in their order,
 * the same one twice, too (TensorFlow: scatter_update, _add, _sub, _mul, _div, _min, _max). Mirrored variables only:
 * with NONE this replica's copy and rows; ONLY_FIRST_REPLICA replica 0's rows into every copy; SUM the rows of all
 * replicas, in replica order, into every copy; MEAN the same, each row divided by the number of replicas. Those three
 * need every replica to call, with any number of rows. With SUM and MEAN, SET, MIN and MAX are MDIST_ERR_UNSUPPORTED,
 * reason `rows_aggregation`; sync-on-read is, too, reason `rows_on_read`. An index that the variable has not is
 * MDIST_ERR_INVALID_ARGUMENT, and nothing is written.
 * @param indices  int64 [k]
 * @param values   [k, ...]: like the variable but for the first dimension
 * @thread replica   @blocks as mdist_all_reduce where replicas take part   @collective all replicas, or no
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_replica_assign_rows(mdist_replica_t *replica, mdist_variable_t *variable,
                                                   mdist_assign_t assign, const mdist_tensor_t *indices,
                                                   const mdist_tensor_t *values, const mdist_call_options_t *options,
                                                   mdist_error_t **error);

/**
 * Reads from outside of steps, as a plain value (a copy, in memory of the host). Mirrored: copy 0. Sync-on-read: SUM
 * and MEAN over all replicas' copies, ONLY_FIRST_REPLICA copy 0; NONE is MDIST_ERR_FAILED_PRECONDITION. In a step, read
 * the memory of mdist_variable_tensor.
 * @thread one at a time per strategy   @blocks until the result is there   @collective all workers for sync-on-read
 * @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_read(mdist_variable_t *variable, mdist_value_t **out,
                                             const mdist_call_options_t *options, mdist_error_t **error);

/**
 * From here to mdist_cached_reads_exit, mdist_variable_read gives of each variable of the strategy what its first read
 * gave, whatever has been written since, without asking other workers again: for who looks at the same numbers in many
 * places. Does not nest: MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`. All workers enter and leave alike, since
 * a read that one of them has cached is none that others could wait for; a client that leads others (serve.h) caches
 * what it reads itself. In a step, where a read is a look at memory, keep a copy of it. Checkpoints are saved from the
 * variables themselves. (TensorFlow: cache_variable_reads.)
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cached_reads_enter(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Ends what mdist_cached_reads_enter began. Without that: MDIST_ERR_FAILED_PRECONDITION, reason `cached_reads`.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cached_reads_exit(mdist_strategy_t *strategy, mdist_error_t **error);

/**
 * Describes the copy of a local replica, which lies on its device. Its address never changes; borrowed until the
 * variable is destroyed. Read and write it as you like, from one thread at a time (on a GPU by kernels and copies, see
 * <mdist/gpu.h>); keeping mirrored copies equal is then up to you.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_tensor(const mdist_variable_t *variable, uint32_t local_replica,
                                               mdist_tensor_t *out, mdist_error_t **error);

/**
 * The name it was created with, borrowed; "" for a bad handle.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_variable_name(const mdist_variable_t *variable);

/**
 * All variables of @p dtype of a local replica as one buffer: reduce or update many in one call. They lie in order of
 * creation, but a new one may take the place of a destroyed one; each starts at a multiple of 64 bytes, where
 * mdist_variable_tensor says, at the same offset on every replica. The gaps hold zeros unless you write there. All
 * kinds are in it: reducing it makes sync-on-read copies equal, too. Borrowed until the strategy and its variables are
 * gone; more variables make it longer, and it never moves. Without a variable of that dtype: data NULL, no elements.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_arena(const mdist_strategy_t *strategy, mdist_dtype_t dtype,
                                              uint32_t local_replica, mdist_buffer_t *out, mdist_error_t **error);

/**
 * Says which variable holds the memory at @p address, and which local replica's copy it is; MDIST_ERR_NOT_FOUND if none
 * of this strategy does (TensorFlow: value_container, variable_created_in_scope). For functions that see tensors only.
 * @param out            receives a handle of your own to the variable, which goes with the last of its handles
 * @param local_replica  may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_of(const mdist_strategy_t *strategy, const void *address,
                                           mdist_variable_t **out, uint32_t *local_replica, mdist_error_t **error);

/**
 * Finds a variable by its name, whoever created it, in a step too; MDIST_ERR_NOT_FOUND lists what there is.
 * @param out  receives a handle of your own to the variable, which goes with the last of its handles
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_variable_find(const mdist_strategy_t *strategy, const char *name,
                                             mdist_variable_t **out, mdist_error_t **error);

/**
 * Changes one copy in update context: the copy's memory, and for each argument the tensor that belongs to it; an
 * argument that is a structure brings those of its leaves, one after another in the order of their paths, so that
 * @p argument_count counts tensors. Each result that it sets in @p results is a plain value or a structure of such,
 * which it made and hands over, also if it fails. Returns 0, or any other number to fail the update, which
 * mdist_error_native then gives. Runs on the thread that called mdist_update; may call any function of cross-replica
 * context, where mdist_variable_assign writes the copy at hand only. A copy on a GPU is for kernels, whose work must be
 * done when it returns.
 */
typedef int32_t (*mdist_update_fn)(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                                   size_t argument_count, mdist_value_t **results, size_t result_count,
                                   void *user_data);

/**
 * Calls @p update for each local copy, one after another (TensorFlow: StrategyExtended.update). Stops at the first
 * failure; copies already changed stay so. In a step, call mdist_merge_call first.
 * @param arguments  each copy sees its own tensor of a per-replica or mirrored value, and all see the one of a plain
 *                   value. May be NULL if the count is 0.
 * @param results    receives @p result_count values, as from mdist_run: what the copies made, regrouped leaf by leaf
 * @thread one at a time per strategy   @blocks until the last copy is done   @collective no
 * @calls-back update, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_update(mdist_variable_t *variable, mdist_update_fn update, void *user_data,
                                      mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results,
                                      size_t result_count, mdist_error_t **error);

/**
 * The same for state that belongs to no single variable, such as an optimizer's step counter: calls @p update once per
 * device of the strategy, with NULL for the copy. (TensorFlow: StrategyExtended.update_non_slot, non_slot_devices.)
 * @thread one at a time per strategy   @blocks until the last device is done   @collective no
 * @calls-back update, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_update_non_slot(mdist_strategy_t *strategy, mdist_update_fn update, void *user_data,
                                               mdist_value_t *const *arguments, size_t argument_count,
                                               mdist_value_t **results, size_t result_count, mdist_error_t **error);

/**
 * Frees a variable and its place in the arenas, which is zeroed and may go to the next variable: addresses from
 * mdist_variable_tensor are wrong from then on. So not while a step uses it. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_variable_destroy(mdist_variable_t *variable);

#ifdef __cplusplus
}
#endif

#endif
