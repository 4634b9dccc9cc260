// SPDX-License-Identifier: Apache-2.0
// Scenarios: functions that run in several real worker processes at once, and the tests that start them.
//
// A test program starts itself again, once for each worker, with the name of a scenario; the test owns the store where
// they meet. In a scenario REQUIRE() ends the worker with a sentence on stderr; the test fails if any worker fails, or
// is not done in time. Nothing here is cmocka's, which knows one process only; tests assert on what run_workers gives.
#pragma once

#include "mdist_test.h"

typedef void (*Scenario)(void);

typedef struct NamedScenario {
    const char *name;
    Scenario run;
} NamedScenario;

/// Of this worker; and whom the scenario is about.
extern uint32_t rank, worker_count, victim;

/// Who runs, and with what: environment as "NAME=value" lines, NULL at the end; NULL for none.
typedef struct Workers {
    const char *scenario;
    uint32_t count;
    const char *devices; // "cpu*2"
    const char *const *environment;
    uint32_t victim;         // awaited last: when all others have ended it is continued and let go
    int killed;              // the victim is to end by SIGKILL
    const char *store;       // where they meet; NULL: at one of their own
    const char *replacement; // NULL, or a scenario: when the victim has ended, one of this begins in its place
} Workers;

/// A time limit that is to run out, but not for those who are merely slow.
#if MDIST_TEST_SANITIZED
#define RUNS_OUT "8s"
#else
#define RUNS_OUT "3s"
#endif

/// A store for several runs of workers; NULL if there is none, which it has printed.
mdist_store_t *open_store(uint32_t worker_count_of_job, char *address, size_t capacity);

/// Runs them to their end; 0 if all is well, else it has printed what is not.
int run_workers(const Workers *workers);

/// What main() does in such a program: the tests, or one worker of a scenario.
int multi_main(int argument_count, char **arguments, const NamedScenario *scenarios, size_t scenario_count,
               int (*test_all)(void));

/// Ends this worker unless `condition` holds.
#define REQUIRE(condition)                                           \
    do {                                                             \
        if (!(condition)) fail_here(#condition, __FILE__, __LINE__); \
    } while (0)

/// Ends this worker with a sentence.
#define GIVE_UP(sentence) fail_here(sentence, __FILE__, __LINE__)

/// The call gave this status, and an error that agrees; its message stays in `message` until the next.
#define GIVES(wanted, call)                                            \
    do {                                                               \
        mdist_error_t *error = NULL;                                   \
        const mdist_status_t given = (call);                           \
        check_status(wanted, given, error, #call, __FILE__, __LINE__); \
    } while (0)

extern _Thread_local char message[1024], reason[64]; // of this thread
extern _Thread_local int32_t guilty_worker;

void fail_here(const char *what, const char *file, int line);
void check_status(mdist_status_t wanted, mdist_status_t given, mdist_error_t *error, const char *call, const char *file,
                  int line);

/// The victim's: returns when all other workers have ended.
void outlive_others(void);

/// True in the long tier, also in a worker.
int is_long(void);

/// The strategy that the environment describes.
mdist_strategy_t *join(void);
