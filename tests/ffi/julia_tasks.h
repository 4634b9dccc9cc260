// SPDX-License-Identifier: Apache-2.0
// Tasks as Julia has them: pieces of work that a few threads share, that yield instead of waiting, and that go on on
// another thread afterwards. Julia's scheduler may move a task; this one always does, where there are two threads.
#pragma once

#include "mdist_test.h"

#include <pthread.h>
#include <sched.h>

enum { MOST_REPLICAS = 5, MOST_THREADS = 4, ELEMENTS = 300 };

/// The part of a replica in a run, cut where it yields.
typedef struct Task Task;
typedef enum Slice { YIELDED, ENDED } Slice;

struct Task {
    Slice (*slice)(Task *self);
    mdist_strategy_t *strategy;
    uint32_t local; // index of the replica
    int stage, round, rounds;
    int32_t code; // to exit with
    mdist_replica_t *replica;
    mdist_work_t *work;
    float x[ELEMENTS];
    Note note;
    // The pool's.
    int running, ended;
    unsigned last_thread; // from 1; 0: none yet
};

typedef struct Pool {
    pthread_mutex_t mutex;
    Task *tasks;
    unsigned task_count, thread_count;
    unsigned turn; // who is asked first; else the first task would have all threads
} Pool;

typedef struct PoolThread {
    Pool *pool;
    unsigned number; // from 1
} PoolThread;

/// A task for this thread, marked as running; NULL if there is none now. all_ended says whether there will be any.
MDIST_TEST_HELPER Task *take_task(Pool *pool, unsigned thread, int *all_ended) {
    Task *found = NULL;
    pthread_mutex_lock(&pool->mutex);
    *all_ended = 1;
    for (unsigned i = 0; i < pool->task_count; ++i) {
        Task *task = &pool->tasks[(i + pool->turn) % pool->task_count];
        if (task->ended) continue;
        *all_ended = 0;
        if (found || task->running || (pool->thread_count > 1 && task->last_thread == thread)) continue;
        found = task;
        found->running = 1;
    }
    ++pool->turn;
    pthread_mutex_unlock(&pool->mutex);
    return found;
}

MDIST_TEST_HELPER void put_back(Pool *pool, Task *task, unsigned thread, Slice slice) {
    pthread_mutex_lock(&pool->mutex);
    task->running = 0;
    task->last_thread = thread;
    task->ended = slice == ENDED;
    pthread_mutex_unlock(&pool->mutex);
}

MDIST_TEST_HELPER void *pool_thread(void *argument) {
    const PoolThread *self = argument;
    for (int all_ended = 0; !all_ended;) {
        Task *task = take_task(self->pool, self->number, &all_ended);
        if (task)
            put_back(self->pool, task, self->number, task->slice(task));
        else
            sched_yield();
    }
    return NULL;
}

/// Runs tasks on threads of its own until all have ended.
MDIST_TEST_HELPER void run_tasks(Task *tasks, unsigned task_count, unsigned thread_count) {
    Pool pool = {PTHREAD_MUTEX_INITIALIZER, tasks, task_count, thread_count, 0};
    PoolThread parts[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    for (unsigned i = 0; i < thread_count; ++i) {
        parts[i] = (PoolThread){&pool, i + 1};
        if (pthread_create(&threads[i], NULL, pool_thread, &parts[i]) != 0) abort();
    }
    for (unsigned i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&pool.mutex);
}
