// SPDX-License-Identifier: Apache-2.0
// An elastic job of real processes, for tests: each worker runs the training of elastic_training.h. The test itself
// serves the store, and tells it who has ended. One thread.
#pragma once

#include "mdist_test.h"

#include <sys/types.h>

typedef struct Worker {
    pid_t pid;
    int out;
    uint64_t id;
    int ended, status;
    char text[4096];
} Worker;

typedef struct Job {
    mdist_store_t *store;
    char address[256];
    Worker workers[32];
    uint32_t count; // started so far
    uint32_t size;
    int keeps_size; // lost workers are replaced, and the others wait for them
    int none_fails; // the test has failed, and ends all workers, if one ends by itself without a result
} Job;

/// Whether this process is a worker. Its main() then returns elastic_training(). Otherwise an argument chooses tests by
/// name. Call this first.
int is_worker(int argc, char **argv);

/// Makes the store of a job of 8 replicas. `least` workers must be left, `link` is the communication.implementation.
void begin(Job *job, uint32_t size, uint32_t least, const char *copies, const char *link);
/// The same of a job of so many replicas.
void begin_with(Job *job, uint32_t replicas, uint32_t size, uint32_t least, const char *copies, const char *link);
/// Starts a worker. `die` is its TEST_DIE, or NULL.
void start(Job *job, const char *die);
/// Returns when the worker has written that it has begun.
void await_begin(const Worker *worker);
/// Waits for one worker, or for any if `pid` is -1. Replaces it if it was killed and the job keeps its size. Returns 0
/// if there is none.
int reap(Job *job, pid_t pid);
/// Waits for all workers. A job that runs for five minutes has its workers ended by SIGABRT, and fails the test.
void finish(Job *job);
/// Fails the test unless all workers but those `killed` have printed this result.
void expect(const Job *job, const char *result, uint32_t killed);
/// Runs a job of so many workers. The first `deaths` die at these places; the others must have that result. `replace`:
/// killed ones are replaced.
void lose(uint32_t size, const char *const *die, uint32_t deaths, const char *copies, const char *link, int replace,
          const char *result);
/// Sets what a job of so many workers prints that loses none: "result 0123456789abcdef". Its workers have ended.
void run_undisturbed(Job *job, uint32_t size, char result[64]);
/// Kills one worker, or two, of a job at random moments, and fails the test unless the others have that result. Does so
/// for `count` seeds, or those of MDIST_TEST_SEED and MDIST_TEST_COUNT. `before` is called before each; it may be NULL.
void disturb_all(uint32_t count, const char *result, void (*before)(uint64_t seed));
