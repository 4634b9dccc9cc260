/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Store: where the workers of a job meet, for launchers.
 *
 * A job needs one store. Rank 0 serves it unless somebody else does: a launcher that makes one here binds the port
 * before it starts the first worker, and rank 0's death does not take the store away. Workers find it by MDIST_STORE
 * (its address) and know by MDIST_STORE_OWNER=launcher that they need not serve one.
 *
 * The store only brings workers together; no training data passes through it. It serves session after session: when all
 * workers have joined, they are a session, and when one of them leaves or is lost, the next to join begin another.
 * A thread of the library serves it, which neither waits for nor keeps memory for those who cannot show that they
 * belong to the job.
 *
 * Programs that train need none of this.
 */
#ifndef MDIST_STORE_H
#define MDIST_STORE_H

#include <mdist/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_store mdist_store_t;

/**
 * Binds an address and begins to serve.
 * @param address       "host:port" or "[ipv6]:port"; port 0 takes a free one, which mdist_store_address tells. The host
 *                      must be one of this machine's own; it is the only one that is bound
 * @param worker_count  workers of the job, from 1
 * @param job           its name, up to 255 bytes; workers of another are refused. NULL: ""
 * @param restart       how often the job has been started again: 0 at first. Workers with a smaller number
 *                      (MDIST_RESTART) are refused as stale
 * @param secret        what workers must know, NUL-terminated: the content of their secret file without the newline at
 *                      its end. NULL or "": none; then whoever reaches the address may join
 * @return MDIST_ERR_RESOURCE, reason `address_in_use`; MDIST_ERR_NOT_FOUND, reason `name_resolution`;
 *         MDIST_ERR_UNSUPPORTED, reason `not_built`, for a secret in a build that has no cryptography
 * @thread any   @blocks on the resolution of the host's name, up to 10 s   @collective no   @calls-back never
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_store_create(const char *address, uint32_t worker_count, const char *job,
                                            uint32_t restart, const char *secret, mdist_store_t **out,
                                            mdist_error_t **error);

/**
 * Where workers find it: "host:port" with the host as given to mdist_store_create and the true port. Like
 * mdist_config_get: cut off where it does not fit, @p needed (may be NULL) receives the full size, NUL included.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_store_address(const mdist_store_t *store, char *text, size_t capacity, size_t *needed,
                                             mdist_error_t **error);

/**
 * From now on the workers of another start of the job are awaited: @p restart must be larger than before. Those of the
 * start before that still are connected are sent away, and new ones of it are refused as stale
 * (MDIST_ERR_FAILED_PRECONDITION, reason `stale_session`). The address stays.
 * @param worker_count  may be another than before
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_store_restart(mdist_store_t *store, uint32_t worker_count, uint32_t restart,
                                             mdist_error_t **error);

/**
 * How far the workers are, for people: one line such as "2 of 4 workers have joined; missing: 1, 3 (refused: ...)", or
 * "4 workers are connected". @p joined (may be NULL) receives how many are there, worker_count when the session is
 * complete.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_store_progress(const mdist_store_t *store, uint32_t *joined, char *text, size_t capacity,
                                              size_t *needed, mdist_error_t **error);

/**
 * Ends the store and frees its address. Workers that have formed their session go on without it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_store_destroy(mdist_store_t *store);

#ifdef __cplusplus
}
#endif

#endif
