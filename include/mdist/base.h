/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Base: versions, export macro and the words every other header uses.
 *
 * Conventions that hold for the whole API
 *
 * - Handles (`mdist_strategy_t *`, `mdist_value_t *`, ...) are checked ids that travel as pointers. Nobody ever
 *   dereferences them; a stale, freed, foreign or made-up handle gives MDIST_ERR_BAD_HANDLE. `mdist_error_t *` alone is
 *   a real pointer.
 * - Functions that can fail return mdist_status_t and take `mdist_error_t **error` last. It is written on failure only,
 *   over whatever it held; free it with mdist_error_free(). Other outputs are untouched on failure and on MDIST_END.
 *   (Memory that buffers point to has a rule of its own: see collective.h.)
 * - A pointer may be NULL where its comment says so, where its count is 0, and for options, user_data, free_user_data
 *   and error. Elsewhere NULL is MDIST_ERR_INVALID_ARGUMENT, or for handles MDIST_ERR_BAD_HANDLE.
 * - What arrives through an `out` parameter is yours to destroy. What a getter returns is borrowed.
 * - Inputs are copied before the call returns, unless the comment says "kept".
 * - `_destroy` cannot fail, never waits for a peer or for your code (iterators have an exception, told there), and may
 *   be called in any order and from any thread: by finalizers, too. With NULL, with what was destroyed before, or with
 *   what is no handle, it does nothing.
 * - "One at a time per strategy" (or iterator, or entered replica) is checked: the second call gives
 *   MDIST_ERR_FAILED_PRECONDITION, reason `busy`. Per config it is not checked.
 * - Counts are elements, sizes are bytes, durations are nanoseconds, text is UTF-8 and ends in NUL.
 * - Callbacks return 0 to go on; any other value stops the call. C++ exceptions that leave one are caught and fail the
 *   call. A thread exit (pthread_exit) goes on: others are released, and a call on the thread that ended never returns.
 *   longjmp out of a callback is undefined.
 * - The process: signals, environment, locale and stdout are left alone, and threads of the library block all signals.
 *   After fork() the child must not use the library: calls give MDIST_ERR_FAILED_PRECONDITION, reason `forked`, and
 *   destroying does nothing. Once loaded, the library is never unloaded.
 *
 * Every function carries five tags, readable by people and by binding generators:
 *   `@thread`      who may call it: "any"; "one at a time per <handle>" (per strategy: in cross-replica context); or
 *                  "replica": in a step, on the thread that runs it or, if it was entered (step.h), on any, one at a
 *                  time
 *   `@blocks`      "no", or what it waits for
 *   `@collective`  "no", or who else must make the same call
 *   `@calls-back`  "never", or on which thread your function runs
 *   `@since`       the first version that has it
 */
#ifndef MDIST_BASE_H
#define MDIST_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MDIST_API __attribute__((visibility("default")))
#else
#define MDIST_API
#endif

#define MDIST_VERSION_MAJOR 0
#define MDIST_VERSION_MINOR 1
#define MDIST_VERSION_PATCH 0
#define MDIST_VERSION 100 /* 10000 * major + 100 * minor + patch */

/** Without end: for mdist_dataset_repeat, mdist_work_wait and mdist_iterators_settle. */
#define MDIST_FOREVER 0x7fffffffffffffff

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Releases what a callback was registered with. Called exactly once for every registration that took it, also when the
 * registration failed, as soon as nothing that kept it is left. May run on a thread of the library. May call `_destroy`
 * functions and mdist_free, nothing else of the library; must not throw or end its thread.
 */
typedef void (*mdist_free_fn)(void *user_data);

/**
 * Version of the library that is running, as MDIST_VERSION counts.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_version(void);

/**
 * Whether this build and this host can do something: "cuda", "nccl", "gloo", "shm", "secret" (of a job), "avx2" ...
 * Unknown names, and NULL, answer 0.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_has(const char *feature);

#ifdef __cplusplus
}
#endif

#endif
