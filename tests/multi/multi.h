// SPDX-License-Identifier: Apache-2.0
// Runs scenarios: functions that run in several real worker processes at once.
//
// A test program starts itself again, once for each worker, with the name of a scenario. The test owns the store where
// the workers meet. In a scenario, REQUIRE() ends the worker with a sentence on stderr. The test fails if any worker
// fails or is not done in time. cmocka knows only one process, so scenarios do not use it: tests assert on the result
// of run_workers().
#pragma once

#include "mdist_test.h"

#ifdef __cplusplus
extern "C" {
#define _Thread_local thread_local
#endif

typedef void (*Scenario)(void);

typedef struct NamedScenario {
    const char *name;
    Scenario run;
} NamedScenario;

/// This worker's rank, the number of workers, and the rank of the worker that the scenario is about.
extern uint32_t rank, worker_count, victim;
/// The id of each worker's first replica, then the number of all replicas.
enum { MOST_WORKERS = 256 };
extern uint32_t first_replica_of[MOST_WORKERS + 1];

/// What to run. `environment` holds "NAME=value" strings, with NULL at the end; NULL for none.
typedef struct Workers {
    const char *scenario;
    uint32_t count;
    const char *devices; // "cpu*2": of every worker; "cpu*3|cpu*1": of each worker, whose numbers may differ
    const char *const *environment;
    uint32_t victim;         // awaited last: once all others have ended, it is continued and released
    int killed;              // the victim must end by SIGKILL
    const char *store;       // where they meet; NULL: at a store of their own
    const char *replacement; // NULL, or a scenario that starts in the victim's place once the victim has ended
} Workers;

/// Opens a store for several runs of workers. If that fails, prints why and returns NULL.
mdist_store_t *open_store(uint32_t worker_count_of_job, char *address, size_t capacity);

/// Runs the workers to their end. Returns 0 if all is well; otherwise prints what is wrong.
int run_workers(const Workers *workers);

/// Does the same in a scenario where a time limit is to run out for one worker, but not for others that are only slow
/// (support/time_limits.h). `key` is the environment variable of the limit, which is a few seconds at first. A longer
/// one is tried only if all workers that ended otherwise than they should met statuses that lateness explains.
int run_workers_in_time(const Workers *workers, const char *key);

/// Does the work of main(): runs the tests, or one worker of a scenario.
int multi_main(int argument_count, char **arguments, const NamedScenario *scenarios, size_t scenario_count,
               int (*test_all)(void));

/// Ends this worker unless `condition` holds.
#define REQUIRE(condition)                                           \
    do {                                                             \
        if (!(condition)) fail_here(#condition, __FILE__, __LINE__); \
    } while (0)

/// Ends this worker with a sentence.
#define GIVE_UP(sentence) fail_here(sentence, __FILE__, __LINE__)

/// The same where a limit that is to run out for the victim may have run out for another one, too: `given` is the
/// status that says so. run_workers_in_time() then tries a longer limit.
#define REQUIRE_UNLESS_LATE(condition, given)                                    \
    do {                                                                         \
        if (!(condition)) fail_or_late((given), #condition, __FILE__, __LINE__); \
    } while (0)

/// Checks that the call gives this status, and an error that agrees. The error's message stays in `message` until the
/// next call.
#define GIVES(wanted, call)                                            \
    do {                                                               \
        mdist_error_t *error = NULL;                                   \
        const mdist_status_t given = (call);                           \
        check_status(wanted, given, error, #call, __FILE__, __LINE__); \
    } while (0)

extern _Thread_local char message[1024], reason[64]; // of this thread
extern _Thread_local uint32_t guilty_worker;
extern _Thread_local mdist_status_t last_status;

void fail_here(const char *what, const char *file, int line);
void fail_or_late(mdist_status_t given, const char *what, const char *file, int line);
void check_status(mdist_status_t wanted, mdist_status_t given, mdist_error_t *error, const char *call, const char *file,
                  int line);

/// For the victim: returns when all other workers have ended.
void outlive_others(void);

/// Creates the strategy that the environment describes.
mdist_strategy_t *join(void);

#ifdef __cplusplus
#undef _Thread_local
}
#endif
