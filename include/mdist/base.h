/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Base: the version, the export macro, and the conventions of the whole API.
 *
 * Example:
 *
 *     assert(mdist_version() >= MDIST_VERSION); // the library is not older than this header
 *     mdist_strategy_t *strategy = NULL;        // a handle
 *     mdist_error_t *error = NULL;
 *     mdist_status_t status = mdist_strategy_create(NULL, &strategy, &error);
 *     if (status != MDIST_OK) fprintf(stderr, "%s\n", mdist_error_message(error));
 *     mdist_error_free(error);
 *     mdist_strategy_destroy(strategy);
 *
 * Handles
 * - A handle (`mdist_strategy_t *`, `mdist_value_t *`, ...) is a checked id that travels as a pointer. Nobody
 *   dereferences it. A stale, freed, foreign or made-up handle gives MDIST_ERR_BAD_HANDLE.
 * - Only `mdist_error_t *` is a real pointer.
 *
 * Names
 * - mdist_<object>_<verb> acts on that object.
 * - Collectives, messages, merges and losses without an object act for a replica: call them in a step.
 * - Other verbs without an object act for a strategy: mdist_run, map, update, serve, distribute, scope, cached_reads,
 *   alloc.
 * - Parameters come in this order: who acts, inputs, outputs, options, error.
 * - Ids, ranks, indices and counts are unsigned. MDIST_NONE says that there is no such replica or worker.
 *
 * Errors
 * - A function that can fail returns mdist_status_t and takes `mdist_error_t **error` last.
 * - On failure, the library overwrites `*error`. So free an earlier error first, with mdist_error_free(). On success it
 *   leaves `*error` as it was.
 * - Other outputs stay untouched on failure and on MDIST_END. (Memory that buffers point to has its own rule: see
 *   collective.h.)
 *
 * NULL
 * - A pointer may be NULL where its comment says so, and where its count is 0. options, user_data, free_user_data and
 *   error may always be NULL.
 * - Any other NULL is MDIST_ERR_INVALID_ARGUMENT. For a handle it is MDIST_ERR_BAD_HANDLE.
 *
 * Ownership
 * - You own what an `out` parameter gives you, and you destroy it. What a getter returns is borrowed.
 * - The library copies inputs before the call returns, unless the comment says "kept".
 * - `_destroy` cannot fail. It never waits for a peer or for your code. (Iterators have one exception, described
 *   there.)
 * - You may call `_destroy` functions in any order and from any thread, including finalizers. `_destroy` ignores NULL,
 *   destroyed handles and whatever is no handle.
 *
 * Calls
 * - "One at a time per strategy" (or per iterator, or per entered replica) is checked. The second call gives
 *   MDIST_ERR_FAILED_PRECONDITION, reason `busy`. For configs it is not checked.
 * - Counts are elements, sizes are bytes, durations are nanoseconds. Text is UTF-8 and ends in NUL;
 *   names, paths and other text that is not UTF-8 are MDIST_ERR_INVALID_ARGUMENT.
 *
 * Callbacks
 * - A callback returns 0 to go on. Any other value stops the call.
 * - The library catches a C++ exception that leaves a callback, and the call fails.
 * - If a callback exits its thread (pthread_exit), the library releases the other replicas. The interrupted call does
 *   not return.
 * - longjmp out of a callback is undefined.
 *
 * Process
 * - The library leaves signals, environment, locale and stdout alone. Its threads block all signals.
 * - After fork() the child must not use the library: calls give MDIST_ERR_FAILED_PRECONDITION, reason `forked`, and
 *   destroying does nothing.
 * - Once loaded, the library is never unloaded.
 *
 * Every function carries five tags, for people and for binding generators:
 *     `@thread`      who may call it: "any"; "one at a time per <handle>" (per strategy: in cross-replica context); or
 *                    "replica": in a step, on the thread that runs it. An entered replica (threads.h) may be used on
 *                    any thread, one at a time.
 *     `@blocks`      "no", or what it waits for
 *     `@collective`  "no", or who else must make the same call
 *     `@calls-back`  "never", or the thread on which your function runs
 *     `@since`       the first version that has it
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
#define MDIST_VERSION_MINOR 3
#define MDIST_VERSION_PATCH 0
#define MDIST_VERSION 300 /* 10000 * major + 100 * minor + patch */

/**
 * No limit. For mdist_dataset_repeat, mdist_work_wait, mdist_iterators_wait and others whose comment names it.
 *
 * No two macros of this kind have the same number (MDIST_LATEST, MDIST_ONE_PER_WORKER ...). As a count of a dataset or
 * the number of a checkpoint, one that belongs elsewhere is MDIST_ERR_INVALID_ARGUMENT, as are all numbers from
 * 2^63 - 256 to 2^63 - 1.
 */
#define MDIST_FOREVER 0x7fffffffffffff01

/** No replica, or no worker: where an id or a rank is expected. */
#define MDIST_NONE 0xffffffff

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Releases the user_data of a registration.
 *
 * - The library calls it exactly once for every registration that took it, even if the registration failed. The call
 *   comes as soon as nothing keeps the user_data any more, possibly on a thread of the library.
 * - The function may call `_destroy` functions and mdist_free, and nothing else of the library.
 * - The function must not throw or end its thread.
 */
typedef void (*mdist_free_fn)(void *user_data);

/**
 * Returns the version of the running library, in the format of MDIST_VERSION.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API uint32_t mdist_version(void);

/**
 * Returns 1 if this build and this host support @p feature, else 0.
 *
 * Known features: "cuda", "nccl", "shm", "tcp", "avx2", "avx512" and "secret" (of a job). Unknown names, and
 * NULL, give 0. "cuda" and "nccl" load the library's module for it. CUDA does not survive a fork: do not ask
 * for "cuda" or "nccl" before a fork whose child uses GPUs.
 * @thread any   @blocks while a module is loaded, the first time   @collective no   @calls-back never   @since 0.1
 */
MDIST_API int32_t mdist_has(const char *feature);

#ifdef __cplusplus
}
#endif

#endif
