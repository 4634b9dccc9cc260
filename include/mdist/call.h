/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Call: a collective that is described once and runs many times.
 *
 * Example, in a step:
 *
 *     float x = 1;
 *     const mdist_buffer_t buffer = {&x, 1, MDIST_FLOAT32, 0};
 *     const mdist_call_description_t description = {sizeof description, MDIST_CALL_ALL_REDUCE, MDIST_SUM, 0,
 *                                                   &buffer, &buffer, 1, NULL, NULL};
 *     mdist_call_t *call = NULL;
 *     mdist_call_create(strategy, mdist_replica_local_index(replica), &description, &call, NULL, NULL);
 *     for (int i = 0; i < 3; ++i) mdist_call_run(replica, call, NULL);
 *     assert(x == 8);
 *
 * - The library checks the buffers once, when you create the call. A binding that makes a mdist_buffer_t from an array
 *   of its language does that only once, too.
 * - A call belongs to one local replica, and may run in any of that replica's steps. It reads and writes the memory of
 *   the buffers each time it runs.
 * - It counts as the collective that it describes: other replicas may call that collective directly.
 * - The memory of the buffers must stay until the call is destroyed.
 */
#ifndef MDIST_CALL_H
#define MDIST_CALL_H

#include <mdist/work.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_call mdist_call_t;

/** The collectives that can be described. Each has the name of its function. */
typedef enum mdist_call_kind {
    MDIST_CALL_ALL_REDUCE       = 1,
    MDIST_CALL_BROADCAST        = 2,
    MDIST_CALL_ALL_GATHER       = 3,
    MDIST_CALL_REDUCE_SCATTER   = 4,
    MDIST_CALL_ALL_TO_ALL       = 5,
    MDIST_CALL_ALL_TO_ALL_PARTS = 6,
    MDIST_CALL_REDUCE_TO_ROOT   = 7,
    MDIST_CALL_GATHER_TO_ROOT   = 8,
    MDIST_CALL_SCATTER          = 9,
    MDIST_CALL_BARRIER          = 10,
    MDIST_CALL_PIN_INT32        = -0x7fffffff - 1
} mdist_call_kind_t;

/** The arguments of a collective. The library copies all arrays. Set fields that the collective does not use to 0. */
typedef struct mdist_call_description {
    uint32_t struct_size;         /* sizeof(mdist_call_description_t) as you were compiled */
    int32_t kind;                 /* mdist_call_kind_t */
    int32_t op;                   /* mdist_reduce_op_t or an operator, if it reduces */
    uint32_t root;                /* if it has one */
    const mdist_buffer_t *inputs; /* of MDIST_CALL_BROADCAST: the buffers */
    const mdist_buffer_t *outputs;
    size_t buffer_count;
    const uint64_t *input_parts;  /* MDIST_CALL_ALL_TO_ALL_PARTS only */
    const uint64_t *output_parts;
} mdist_call_description_t;

/**
 * Creates a call of a local replica, and checks its arguments.
 *
 * It fails as the collective would before it waits for others. The call keeps the group and the operator that it names.
 * @param options  for every run of the call
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_call_create(mdist_strategy_t *strategy, uint32_t local_replica,
                                           const mdist_call_description_t *description, mdist_call_t **out,
                                           const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Makes the call, as the blocking form of its collective does.
 * @param replica  the local replica that the call was created for
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_call_run(mdist_replica_t *replica, mdist_call_t *call, mdist_error_t **error);

/**
 * Starts the call and returns at once, as the `_start` form of its collective does.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_call_start(mdist_replica_t *replica, mdist_call_t *call, mdist_work_t **out,
                                          mdist_error_t **error);

/**
 * Frees a call. NULL is ignored.
 *
 * Operations that it has started continue.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API void mdist_call_destroy(mdist_call_t *call);

#ifdef __cplusplus
}
#endif

#endif
