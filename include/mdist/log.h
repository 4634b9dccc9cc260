/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Log: the library speaks through one sink and never to stdout.
 *
 * Default sink: stderr, one line per message. Level: `MDIST_LOG` (error, warn, info, debug, off), else warn.
 * The sink is the only thing that all strategies of a process share.
 */
#ifndef MDIST_LOG_H
#define MDIST_LOG_H

#include <mdist/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mdist_log_level {
    MDIST_LOG_OFF       = 0,
    MDIST_LOG_ERROR     = 1,
    MDIST_LOG_WARN      = 2,
    MDIST_LOG_INFO      = 3,
    MDIST_LOG_DEBUG     = 4,
    MDIST_LOG_PIN_INT32 = -0x7fffffff - 1
} mdist_log_level_t;

/**
 * Receives finished text of @p length bytes, with a NUL behind it and no line end. Runs on whichever thread logs, one
 * call at a time; must not call into the library or end its thread. The text dies with the call.
 */
typedef void (*mdist_log_fn)(mdist_log_level_t level, const char *text, size_t length, void *user_data);

/**
 * Sends messages to @p sink from now on (kept). NULL brings the default sink back. @p free_user_data (may be NULL)
 * runs when the sink is replaced, or at once if this call fails.
 * @thread any   @blocks until a message under way is out   @collective no
 * @calls-back free_user_data, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_log_set_sink(mdist_log_fn sink, void *user_data, mdist_free_fn free_user_data,
                                            mdist_error_t **error);

/**
 * Messages above @p level are dropped.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_log_set_level(mdist_log_level_t level, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
