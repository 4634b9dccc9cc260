/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Prepared: a collective that is described once and runs many times.
 *
 * Example, in a step:
 *
 *     float x = 1;
 *     const mdist_buffer_t buffer = {&x, 1, MDIST_FLOAT32, 0};
 *     const mdist_collective_description_t description = {sizeof description, MDIST_COLLECTIVE_ALL_REDUCE,
 *                                                         MDIST_SUM, 0, &buffer, &buffer, 1, NULL, NULL};
 *     mdist_prepared_t *prepared = NULL;
 *     mdist_prepared_create(strategy, mdist_replica_local_index(replica), &description, &prepared, NULL, NULL);
 *     for (int i = 0; i < 3; ++i) mdist_prepared_run(replica, prepared, NULL);
 *     assert(x == 8);
 *
 * - The library checks the buffers once, when you prepare the call. A binding that makes a mdist_buffer_t from an array
 *   of its language does that only once, too.
 * - A call belongs to one local replica, and may run in any of that replica's steps. It reads and writes the memory of
 *   the buffers each time it runs.
 * - It counts as the collective that it describes: other replicas may call that collective directly.
 * - The memory of the buffers must stay until the call is destroyed.
 */
#ifndef MDIST_PREPARED_H
#define MDIST_PREPARED_H

#include <mdist/work.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_prepared mdist_prepared_t;

/**
 * Creates a call of a local replica, and checks its arguments.
 *
 * It fails as the collective would before it waits for others. The call keeps the group and the operator that it names.
 * @param options  for every run of the call
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_prepared_create(mdist_strategy_t *strategy, uint32_t local_replica,
                                               const mdist_collective_description_t *description,
                                               mdist_prepared_t **out, const mdist_call_options_t *options,
                                               mdist_error_t **error);

/**
 * Makes the call, as the blocking form of its collective does.
 * @param replica  the local replica that the call was created for
 * @thread replica   @blocks as mdist_all_reduce   @collective all replicas   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_prepared_run(mdist_replica_t *replica, mdist_prepared_t *prepared,
                                            mdist_error_t **error);

/**
 * Starts the call and returns at once, as mdist_collective_start does.
 * @thread replica   @blocks no   @collective all replicas   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_prepared_start(mdist_replica_t *replica, mdist_prepared_t *prepared, mdist_work_t **out,
                                              mdist_error_t **error);

/**
 * Frees a call. NULL is ignored.
 *
 * Operations that it has started continue.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API void mdist_prepared_destroy(mdist_prepared_t *prepared);

#ifdef __cplusplus
}
#endif

#endif
