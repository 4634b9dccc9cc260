/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Status and error: the result of a call, as a number and in words.
 *
 * Programs decide by the status. The error object explains it to people: message, operation, worker, replica.
 *
 * Example:
 *
 *     uint64_t number = 0;
 *     mdist_status_t status = mdist_checkpoint_latest("checkpoints", &number, &error);
 *     if (status == MDIST_ERR_NOT_FOUND) {
 *         printf("a new training begins: %s\n", mdist_error_message(error));
 *         mdist_error_free(error);
 *     }
 */
#ifndef MDIST_STATUS_H
#define MDIST_STATUS_H

#include <mdist/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The result of a call. 0: ok. Positive: not an error. Negative: an error.
 *
 * The list is closed and its numbers never change.
 */
typedef enum mdist_status {
    MDIST_OK                      = 0,
    MDIST_END                     = 1,   /* a dataset ran out */
    MDIST_ERR_INVALID_ARGUMENT    = -1,  /* a value that no call of this kind accepts */
    MDIST_ERR_BAD_HANDLE          = -2,  /* NULL, destroyed, of another type, or never a handle */
    MDIST_ERR_WRONG_CONTEXT       = -3,  /* this call does not work here; the message says what to call instead */
    MDIST_ERR_FAILED_PRECONDITION = -4,  /* the call does not work in this state, or while another call runs */
    MDIST_ERR_CONFIG              = -5,  /* an unusable configuration; the message names the place */
    MDIST_ERR_NOT_FOUND           = -6,
    MDIST_ERR_UNSUPPORTED         = -7,  /* this build, this host or this call cannot do it */
    MDIST_ERR_OUT_OF_MEMORY       = -8,
    MDIST_ERR_RESOURCE            = -9,  /* no more threads, file descriptors or handles */
    MDIST_ERR_IO                  = -10,
    MDIST_ERR_DATA_LOSS           = -11, /* damaged or incomplete data */
    MDIST_ERR_MISMATCH            = -12, /* replicas or workers disagree: operation, type, shape, order, count */
    MDIST_ERR_TIMEOUT             = -13,
    MDIST_ERR_PEER_LOST           = -14,
    MDIST_ERR_ABORTED             = -15, /* an earlier failure, or mdist_strategy_abort, ended all collectives; if a
                                            worker was lost, that stays MDIST_ERR_PEER_LOST */
    MDIST_ERR_UNAUTHENTICATED     = -16,
    MDIST_ERR_CALLBACK            = -17, /* your function returned non-zero, threw, or ended its thread */
    MDIST_ERR_DEVICE              = -18, /* CUDA or NCCL; see mdist_error_native */
    MDIST_ERR_INTERNAL            = -19, /* a bug in the library: please report it */
    MDIST_STATUS_PIN_INT32        = -0x7fffffff - 1
} mdist_status_t;

/** Describes one failure in full. You own it; free it with mdist_error_free. */
typedef struct mdist_error mdist_error_t;

/**
 * Returns the name of a status constant, such as "MDIST_ERR_TIMEOUT"; "MDIST_ERR_?" for an unknown number.
 *
 * The text is static.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_status_name(mdist_status_t status);

/**
 * Returns the status of the failed call; MDIST_OK for NULL.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_error_status(const mdist_error_t *error);

/**
 * Returns one English sentence with the bad value, the place, and what would be right.
 *
 * It is borrowed from @p error. For NULL it is "".
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_error_message(const mdist_error_t *error);

/**
 * Returns a stable word for programs, such as "unknown_key" or "step_returned".
 *
 * It is "" where the status says enough, and for NULL. It is borrowed from @p error.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_error_reason(const mdist_error_t *error);

/**
 * Returns the name of the call or collective that failed, such as "mdist_all_reduce".
 *
 * It is borrowed from @p error. For NULL it is "".
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_error_operation(const mdist_error_t *error);

/**
 * Returns the id of the replica at fault; MDIST_NONE if no replica is at fault, or if it is unknown.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_error_replica(const mdist_error_t *error);

/**
 * Returns the rank of the worker at fault, from 0; MDIST_NONE if no worker is at fault, or if it is unknown.
 *
 * That is the worker that is lost or late, or that made a different call.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_error_rank(const mdist_error_t *error);

/**
 * Returns the underlying number; 0 if there is none.
 *
 * That is your callback's return value, errno, or a CUDA or NCCL code.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int64_t mdist_error_native(const mdist_error_t *error);

/**
 * Makes your function that runs on this thread fail, or says why it is going to.
 *
 * Your function is a step, or any other function that the library calls and that returns 0 or a number. If it fails,
 * mdist_error_message contains the number and @p why, on all workers that hear of the failure. An example is "the step
 * of replica 2 returned 7: the loss is NaN at batch 41".
 *
 * - It counts only for the innermost function.
 * - If that returns 0 and @p code is 0, the text is forgotten.
 * - Outside of such functions, @p code does nothing. The text belongs to the number that this thread passes next to
 *   mdist_replica_exit or mdist_merge_end. mdist_replica_enter forgets earlier text.
 * @param code  the number with which the function fails, whatever it is going to return. It is for runtimes of other
 *              languages, which can lose an exception where nothing catches it yet, or no longer does. Then nobody
 *              knows what the function returns. 0: what it returns counts, even if an earlier call gave a number
 * @param why   copied, at most 511 bytes. "..." replaces what is cut off. Bytes that are not UTF-8 are written as
 *              numbers. It replaces the text of an earlier call. NULL leaves that text, "" takes it back
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API void mdist_fail(int32_t code, const char *why);

/**
 * Frees an error. NULL is ignored.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_error_free(mdist_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
