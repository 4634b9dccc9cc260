/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Store: the meeting point of a job's workers. This header is for launchers; programs that train need none of it.
 *
 * Example:
 *
 *     mdist_store_t *store = NULL;
 *     char address[256];
 *     mdist_store_create("127.0.0.1:0", 4, "job", 0, NULL, &store, &error); // for four workers
 *     mdist_store_address(store, address, sizeof address, NULL, &error);
 *     setenv("MDIST_STORE", address, 1); // for the workers, which the launcher starts now
 *     setenv("MDIST_STORE_OWNER", "launcher", 1);
 *
 * A job needs one store. Rank 0 serves it, unless a launcher does. A launcher that creates a store here binds the port
 * before it starts the first worker, and the store survives the death of rank 0. Workers find the store by MDIST_STORE,
 * its address. MDIST_STORE_OWNER=launcher tells them that they need not serve one.
 *
 * The store only brings workers together. No training data passes through it. It serves one session after another:
 * - When all workers have joined, they form a session.
 * - When a worker of the session leaves or is lost, the next workers to join begin another session.
 *
 * A thread of the library serves the store. For peers that cannot show that they belong to the job, it neither waits
 * nor keeps memory.
 */
#ifndef MDIST_STORE_H
#define MDIST_STORE_H

#include <mdist/config.h>
#include <mdist/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_store mdist_store_t;

/**
 * Creates a store: binds an address and begins to serve.
 *
 * Errors:
 * - MDIST_ERR_INVALID_ARGUMENT: among others, the secret is too short.
 * - MDIST_ERR_RESOURCE, reason `address_in_use`: the port is in use.
 * - MDIST_ERR_NOT_FOUND, reason `name_resolution`: the host's name cannot be resolved.
 * - MDIST_ERR_UNSUPPORTED, reason `not_built`: a secret was given, and this build has no cryptography.
 *
 * @param address       "host:port" or "[ipv6]:port". Port 0 takes a free port, which mdist_store_address tells. The
 *                      host must be one of this machine's own addresses; no other is bound
 * @param worker_count  number of workers of the job, from 1
 * @param job           name of the job, up to 255 bytes; workers of another job are refused. NULL: ""
 * @param restart       how often the job has been restarted: 0 at first. Workers with a smaller number (MDIST_RESTART)
 *                      are refused as stale
 * @param secret        what workers must know, NUL-terminated: the content of their secret file without the newline at
 *                      its end, at least 32 random bytes (`mdist secret` writes such a file). Passwords are not
 *                      supported: they can be guessed. NULL or "": no secret; then anybody who reaches the address may
 *                      join while the job forms
 * @thread any   @blocks on the resolution of the host's name, up to 10 s   @collective no   @calls-back never
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_store_create(const char *address, uint32_t worker_count, const char *job,
                                            uint32_t restart, const char *secret, mdist_store_t **out,
                                            mdist_error_t **error);

/**
 * Creates a store for an elastic job (elastic.h).
 *
 * It decides which workers make up each generation of the job, so it must not end before the job does. Give it the same
 * keys `elastic.*` and `communication.heartbeat_timeout` as the workers. Without a secret it takes no worker after the
 * first generation has formed, unless its `elastic.open` is true.
 *
 * With the key `elastic.state` it keeps what it knows in that folder. If its process ends, create a store again with
 * the same address, keys and job. It goes on where the other one was, and the workers come back to it. Until then
 * they work on; only a regroup waits for it, up to `communication.join_timeout`. When the job is over, it removes what
 * it has kept.
 *
 * Errors: as mdist_store_create, and
 * - MDIST_ERR_CONFIG: `elastic.replicas` is not set, or the keys contradict each other. Reason `different_job`: the
 *   folder has the state of another job. Reason `different_version`: another libmdist has written it. Reason
 *   `bad_address`: port 0, together with `elastic.state`.
 * - MDIST_ERR_FAILED_PRECONDITION, reason `busy`: another process serves from that folder.
 * - MDIST_ERR_IO: the folder cannot be created, read or locked.
 * - MDIST_ERR_DATA_LOSS: the state in it is damaged.
 * @param config  NULL: a new one, loaded from the environment
 * @thread any   @blocks on the resolution of the host's name, up to 10 s   @collective no   @calls-back never
 * @since 0.2
 */
MDIST_API mdist_status_t mdist_store_create_elastic(const char *address, const mdist_config_t *config, const char *job,
                                                    const char *secret, mdist_store_t **out, mdist_error_t **error);

/**
 * Tells the store of an elastic job that the process of a worker has ended.
 *
 * Without it, the store waits for a worker that was killed until that was silent for `communication.heartbeat_timeout`.
 * @param id  the number in the worker's variable MDIST_WORKER_ID, which the launcher chose at random
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_store_worker_ended(mdist_store_t *store, uint64_t id, mdist_error_t **error);

/**
 * Takes the next worker that is out of an elastic job although nobody has told the store that its process has ended.
 *
 * Such a process hangs, was stopped or is cut off. If the job goes on, a launcher ends the process and may start
 * another one. If the job has failed, its other workers end with an error, and this one may never do so. Each worker is
 * told once. A launcher asks now and then, such as five times a second.
 * @param id    receives the number in the worker's variable MDIST_WORKER_ID, or 0 if there is no such worker for now
 * @param goes_on  receives 1 if the job goes on without it, 0 if the job has failed; may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_store_left_behind(mdist_store_t *store, uint64_t *id, int32_t *goes_on,
                                                 mdist_error_t **error);

/**
 * Says whether an elastic job is over, so that its store is not needed any more.
 *
 * Errors: why the job has failed for good, as its workers get it from mdist_regroup.
 * @param ended      gets 1 if all workers of the newest generation have ended, else 0
 * @param committed  gets 1 if a worker has told the store that it has made a commit, else 0. Without a commit, nothing
 *                   is lost if the job begins again. It is set if the job has failed, too. May be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_store_ended(const mdist_store_t *store, int32_t *ended, int32_t *committed,
                                            mdist_error_t **error);

/**
 * Asks a worker of an elastic job to leave, so that the job goes on with fewer workers and loses no step.
 *
 * From now on mdist_membership_changed tells all workers to commit and regroup. In the regroup the others take over its
 * replicas, and its mdist_regroup fails with MDIST_ERR_ABORTED, reason `dismissed`. Of several such workers one leaves
 * with each regroup. A worker stays while the job would have fewer than `elastic.min_workers` without it. One that has
 * not joined yet is refused when it comes.
 * @param id  as in mdist_store_worker_ended
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_store_dismiss(mdist_store_t *store, uint64_t id, mdist_error_t **error);

/**
 * Tells where workers find the store: "host:port", with the host as given to mdist_store_create and the real port.
 *
 * @p text, @p capacity and @p needed work as in mdist_config_get: a text that does not fit is cut off, and @p needed
 * (may be NULL) receives the full size, NUL included.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_store_address(const mdist_store_t *store, char *text, size_t capacity, size_t *needed,
                                             mdist_error_t **error);

/**
 * Prepares the store for another start of the job. From now on it waits for the workers of that start.
 *
 * @p restart must be larger than before. Workers of the earlier start that are still connected are disconnected. New
 * ones of it are refused as stale (MDIST_ERR_FAILED_PRECONDITION, reason `stale_session`). The address stays the same.
 * @param worker_count  may be different from before
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_store_restart(mdist_store_t *store, uint32_t worker_count, uint32_t restart,
                                             mdist_error_t **error);

/**
 * Describes, in one line for people, how many workers have joined. Examples are "2 of 4 workers have joined; missing:
 * 1, 3 (refused: ...)" and "4 workers are connected".
 * @param joined  receives how many workers are there, or worker_count when the session is complete; may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_store_progress(const mdist_store_t *store, uint32_t *joined, char *text, size_t capacity,
                                              size_t *needed, mdist_error_t **error);

/**
 * Tells which worker ended the last session by leaving it: the first to go, before anything had failed for it.
 *
 * The other workers fail because it left. A launcher whose workers fail together learns here which one failed first.
 * @param rank  receives its rank, or MDIST_NONE in any of these cases: no session has ended in this way since
 *                mdist_store_create or mdist_store_restart; all workers of the next session have joined since; or the
 *                first to go was lost without saying that it leaves
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_store_first_gone(const mdist_store_t *store, uint32_t *rank, mdist_error_t **error);

/**
 * Ends the store and frees its address. Workers that have formed their session continue without it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_store_destroy(mdist_store_t *store);

#ifdef __cplusplus
}
#endif

#endif
