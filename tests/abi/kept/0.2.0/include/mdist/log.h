/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Log: where messages of the library go. The library writes them to one sink and never to stdout.
 *
 * Example:
 *
 *     static void print(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
 *         fprintf(user_data, "mdist, level %d: %s\n", level, text);
 *     }
 *     mdist_log_set_level(MDIST_LOG_INFO, &error);
 *     mdist_log_set_sink(print, stdout, NULL, &error);
 *
 * - The default sink writes to stderr, one line per message.
 * - The first level comes from the environment variable `MDIST_LOG` (error, warn, info, debug, off). Without it the
 *   level is warn.
 * - All strategies of a process share the sink and the level.
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
 * Receives one finished message of @p length bytes. A NUL follows it, and it has no line end.
 *
 * The sink runs on whichever thread logs, one call at a time. It must not call the library or end its thread. The text
 * is valid during the call only.
 */
typedef void (*mdist_log_fn)(mdist_log_level_t level, const char *text, size_t length, void *user_data);

/**
 * Sends messages to @p sink (kept) from now on. NULL restores the default sink.
 *
 * @p free_user_data (may be NULL) runs when the sink is replaced, or at once if this call fails.
 * @thread any   @blocks until a message under way is out   @collective no
 * @calls-back free_user_data, on this thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_log_set_sink(mdist_log_fn sink, void *user_data, mdist_free_fn free_user_data,
                                            mdist_error_t **error);

/**
 * Sets the level. Messages above @p level are dropped.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_log_set_level(mdist_log_level_t level, mdist_error_t **error);

#ifdef __cplusplus
}
#endif

#endif
