/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Store: the meeting point of a job's workers. This header is for launchers; programs that train need none of it.
 *
 * Example:
 *
 *     mdist_store_t *store = NULL;
 *     mdist_store_info_t info = {.struct_size = sizeof info};
 *     const mdist_store_options_t options = {.struct_size = sizeof options, .worker_count = 4, .job = "job"};
 *     mdist_store_create("127.0.0.1:0", &store, &options, &error);
 *     mdist_store_describe(store, &info, &error);
 *     setenv("MDIST_STORE", info.address, 1); // for the workers, which the launcher starts now
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
 * What a store is made for: a job of fixed size, which worker_count says, or an elastic job, which config describes.
 *
 * A secret is the content of the workers' secret file without the newline at its end: at least 32 random bytes
 * (`mdist secret` writes such a file). Passwords are not supported: they can be guessed. Without a secret, anybody who
 * reaches the address may join while the job forms.
 */
typedef struct mdist_store_options {
    uint32_t struct_size;         /* sizeof(mdist_store_options_t) as you were compiled */
    uint32_t worker_count;        /* number of workers of a job of fixed size, from 1; 0 with config */
    uint32_t restart;             /* how often the job has been restarted: 0 at first, and with config. Workers with a
                                     smaller number (MDIST_RESTART) are refused as stale */
    uint32_t reserved;            /* 0 */
    const char *job;              /* its name, up to 255 bytes; workers of another job are refused. NULL: "" */
    const char *secret;           /* what workers must know, NUL-terminated; NULL or "": none */
    const mdist_config_t *config; /* NULL with worker_count. Not NULL: the job is elastic; read during the call */
} mdist_store_options_t;

/** What mdist_store_describe tells of a store. A text that does not fit is cut off. */
typedef struct mdist_store_info {
    uint32_t struct_size; /* sizeof(mdist_store_info_t) as you were compiled */
    uint32_t joined;      /* how many workers are there, or worker_count when the session is complete */
    uint32_t first_gone;  /* rank of the worker that ended the last session by leaving it, or MDIST_NONE */
    int32_t ended;        /* 1: all workers of the newest generation of an elastic job have ended, so that the store is
                             not needed any more; else 0 */
    int32_t committed;    /* 1: a worker of an elastic job has told the store of a commit; else 0. Without a commit,
                             nothing is lost if the job begins again */
    char address[320];    /* where workers find the store: "host:port", the host as given, with the real port */
    char progress[3072];  /* how many workers have joined, in one line for people, such as "2 of 4 workers have joined;
                             missing: 1, 3 (refused: ...)" and "4 workers are connected" */
} mdist_store_info_t;

/**
 * Creates a store: binds an address and begins to serve.
 *
 * The store of an elastic job (elastic.h) decides which workers make up each generation, so it must not end before the
 * job does. Give it the same keys `elastic.*` and `communication.heartbeat_timeout` as the workers. Without a secret it
 * takes no worker after the first generation has formed, unless its `elastic.open` is true.
 *
 * With the key `elastic.state` it keeps what it knows in that folder. If its process ends, create a store again with
 * the same address, keys and job. It goes on where the other one was, and the workers come back to it. Until then
 * they work on; only a regroup waits for it, up to `communication.join_timeout`. When the job is over, it removes what
 * it has kept.
 *
 * Errors:
 * - MDIST_ERR_INVALID_ARGUMENT: among others, not exactly one of worker_count and config is set, or the secret is too
 *   short.
 * - MDIST_ERR_RESOURCE, reason `address_in_use`: the port is in use.
 * - MDIST_ERR_NOT_FOUND, reason `name_resolution`: the host's name cannot be resolved.
 * - MDIST_ERR_UNSUPPORTED, reason `not_built`: a secret was given, and this build has no cryptography.
 *
 * Errors of an elastic job:
 * - MDIST_ERR_CONFIG: `elastic.replicas` is not set, or the keys contradict each other. Reason `different_job`: the
 *   folder has the state of another job. Reason `different_version`: another libmdist has written it. Reason
 *   `bad_address`: port 0, together with `elastic.state`.
 * - MDIST_ERR_FAILED_PRECONDITION, reason `busy`: another process serves from that folder.
 * - MDIST_ERR_IO: the folder cannot be created, read or locked.
 * - MDIST_ERR_DATA_LOSS: the state in it is damaged.
 *
 * @param address  "host:port" or "[ipv6]:port". Port 0 takes a free port, which mdist_store_describe tells. The host
 *                 must be one of this machine's own addresses; no other is bound
 * @thread any   @blocks on the resolution of the host's name, up to 10 s   @collective no   @calls-back never
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_store_create(const char *address, mdist_store_t **out,
                                            const mdist_store_options_t *options, mdist_error_t **error);

/**
 * Describes a store as it is at this moment.
 *
 * - If an elastic job has failed for good, it fails with why, as the workers get it from mdist_regroup. @p out is
 *   filled all the same. Any other error leaves it as it was.
 * - A launcher whose workers fail together learns from first_gone which one failed first: the first to go, before
 *   anything had failed for it. The others fail because it left. It is MDIST_NONE if no session has ended in this way
 *   since the store was made or restarted; if all workers of the next session have joined since; if the first to go was
 *   lost without saying that it leaves; and in an elastic job.
 * - The caller sets struct_size, and sets all other fields to 0.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_store_describe(const mdist_store_t *store, mdist_store_info_t *out,
                                              mdist_error_t **error);

/**
 * Tells the store of an elastic job that the process of a worker has ended.
 *
 * Without it, the store waits for a worker that was killed until that was silent for `communication.heartbeat_timeout`.
 * @param id  the number in the worker's variable MDIST_WORKER_ID, which the launcher chose at random
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_store_worker_ended(mdist_store_t *store, uint64_t id, mdist_error_t **error);

/** Why a worker is out of an elastic job although nobody has told the store that its process has ended. */
typedef enum mdist_departure {
    MDIST_DEPARTURE_JOB_FAILED = 0, /* the other workers end with an error, and this one may never do so */
    MDIST_DEPARTURE_LOST       = 1, /* it hangs, was stopped or is cut off, and the job goes on without it: a launcher
                                       ends the process, and may start another one */
    MDIST_DEPARTURE_LEFT       = 2, /* it has said that it must leave (mdist_membership_leave), and ends by itself */
    MDIST_DEPARTURE_PIN_INT32  = -0x7fffffff - 1
} mdist_departure_t;

/**
 * Takes the next worker that is out of an elastic job although nobody has told the store that its process has ended.
 *
 * Each worker is told once. A launcher asks now and then, such as five times a second.
 * @param id         receives the number in the worker's variable MDIST_WORKER_ID, or 0 if there is no such worker for
 *                   now
 * @param departure  receives an mdist_departure_t; may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_store_left_behind(mdist_store_t *store, uint64_t *id, int32_t *departure,
                                                 mdist_error_t **error);

/**
 * Asks a worker of an elastic job to leave, so that the job goes on with fewer workers and loses no step.
 *
 * From now on mdist_membership_check tells all workers to commit and regroup. In the regroup the others take over its
 * replicas, and its mdist_regroup fails with MDIST_ERR_ABORTED, reason `dismissed`. Of several such workers one leaves
 * with each regroup. A worker stays while the job would have fewer than `elastic.min_workers` without it. One that has
 * not joined yet is refused when it comes.
 * @param id  as in mdist_store_worker_ended
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_store_dismiss(mdist_store_t *store, uint64_t id, mdist_error_t **error);

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
 * Ends the store and frees its address. Workers that have formed their session continue without it.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_store_destroy(mdist_store_t *store);

#ifdef __cplusplus
}
#endif

#endif
