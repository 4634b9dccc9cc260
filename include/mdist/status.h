/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Status and error: the status is the truth, the error object is the story.
 */
#ifndef MDIST_STATUS_H
#define MDIST_STATUS_H

#include <mdist/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** 0: ok. Positive: not an error. Negative: an error. The list is closed and its numbers never change. */
typedef enum mdist_status {
    MDIST_OK                      = 0,
    MDIST_END                     = 1,   /* a dataset ran out */
    MDIST_ERR_INVALID_ARGUMENT    = -1,  /* a value that no call of this kind could accept */
    MDIST_ERR_BAD_HANDLE          = -2,  /* NULL, destroyed, of another type, or never a handle */
    MDIST_ERR_WRONG_CONTEXT       = -3,  /* right call, wrong place; the message says what to call instead */
    MDIST_ERR_FAILED_PRECONDITION = -4,  /* not in this state, or not while another call is under way */
    MDIST_ERR_CONFIG              = -5,  /* a configuration that cannot be used; the message says where it stands */
    MDIST_ERR_NOT_FOUND           = -6,
    MDIST_ERR_UNSUPPORTED         = -7,  /* this build or host lacks it, or this call does not do it */
    MDIST_ERR_OUT_OF_MEMORY       = -8,
    MDIST_ERR_RESOURCE            = -9,  /* threads, file descriptors, handles */
    MDIST_ERR_IO                  = -10,
    MDIST_ERR_DATA_LOSS           = -11, /* bytes that are not what they should be */
    MDIST_ERR_MISMATCH            = -12, /* replicas or workers disagree: operation, type, shape, order, count */
    MDIST_ERR_TIMEOUT             = -13,
    MDIST_ERR_PEER_LOST           = -14,
    MDIST_ERR_ABORTED             = -15, /* an earlier failure, or mdist_strategy_abort, ended all collectives */
    MDIST_ERR_UNAUTHENTICATED     = -16,
    MDIST_ERR_CALLBACK            = -17, /* your function returned non-zero, threw, or ended its thread */
    MDIST_ERR_DEVICE              = -18, /* CUDA or NCCL; see mdist_error_native */
    MDIST_ERR_INTERNAL            = -19, /* a fault of the library: please report it */
    MDIST_STATUS_PIN_INT32        = -0x7fffffff - 1
} mdist_status_t;

/** What went wrong, in full. Yours; free with mdist_error_free. */
typedef struct mdist_error mdist_error_t;

/**
 * The constant's name, such as "MDIST_ERR_TIMEOUT"; "MDIST_ERR_?" for a number that is none. Static text.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_status_name(mdist_status_t status);

/**
 * The status that the failing call returned. NULL: MDIST_OK.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_error_status(const mdist_error_t *error);

/**
 * One English sentence with the bad value, the place, and what would be right. Borrowed from @p error. NULL: "".
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_error_message(const mdist_error_t *error);

/**
 * A stable word for programs, such as "unknown_key" or "step_returned"; "" where the status says enough.
 * Borrowed from @p error. NULL: "".
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_error_reason(const mdist_error_t *error);

/**
 * The call or collective that failed, such as "mdist_all_reduce". Borrowed from @p error. NULL: "".
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API const char *mdist_error_operation(const mdist_error_t *error);

/**
 * Replica id of the one at fault, or -1 where it is nobody's or not known.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_error_replica(const mdist_error_t *error);

/**
 * The worker at fault (its rank, from 0), or -1 where it is nobody's or not known: the one that is lost, or late, or
 * that called something else.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_error_worker(const mdist_error_t *error);

/**
 * The number underneath: your callback's return value, errno, a CUDA or NCCL code; 0 where there is none.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int64_t mdist_error_native(const mdist_error_t *error);

/**
 * Frees an error. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_error_free(mdist_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
