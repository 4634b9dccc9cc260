// SPDX-License-Identifier: Apache-2.0
/*
 * The cost of a run that does nothing, for both ways to run: nanoseconds per run, the best of five blocks.
 *
 *   overhead --replicas 2 --runs 10000
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { BLOCKS = 5, MAX_REPLICAS = 256 };

// A barrier: each thread returns when all threads have come.
typedef struct Barrier {
    pthread_mutex_t mutex;
    pthread_cond_t all_have_come;
    long threads, come, round;
} Barrier;

static void barrier_create(Barrier *self, long threads) {
    *self =
        (Barrier){.mutex = PTHREAD_MUTEX_INITIALIZER, .all_have_come = PTHREAD_COND_INITIALIZER, .threads = threads};
}

static void barrier_wait(Barrier *self) {
    pthread_mutex_lock(&self->mutex);
    const long round = self->round;
    if (++self->come == self->threads) {
        self->come = 0;
        ++self->round;
        pthread_cond_broadcast(&self->all_have_come);
    }
    while (self->round == round) pthread_cond_wait(&self->all_have_come, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
}

typedef struct Bench {
    mdist_strategy_t *strategy;
    long replicas, runs;
    Barrier start, finish; // of every run, for `entered`
    int over;
} Bench;

typedef struct Worker {
    pthread_t thread;
    Bench *bench;
    uint32_t local_replica;
} Worker;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int32_t nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

static void run_by_callback(Bench *self) {
    must(mdist_run(self->strategy, nothing, NULL, NULL, &problem));
}

static void enter_and_exit(const Bench *self, uint32_t local_replica) {
    mdist_replica_t *replica = NULL;
    if (mdist_replica_enter(self->strategy, local_replica, &replica, NULL) == MDIST_OK)
        mdist_replica_exit(replica, 0, NULL); // mdist_run_end reports any failure
}

// All replicas but the first stay on their own threads from run to run. The measured time includes the hand-over to
// them, two barriers. The library's own threads must be woken and waited for, too.
static void *work(void *argument) {
    const Worker *const self = argument;
    for (;;) {
        barrier_wait(&self->bench->start);
        if (self->bench->over) return NULL;
        enter_and_exit(self->bench, self->local_replica);
        barrier_wait(&self->bench->finish);
    }
}

static void run_entered(Bench *self) {
    must(mdist_run_begin(self->strategy, NULL, &problem));
    barrier_wait(&self->start);
    enter_and_exit(self, 0);
    barrier_wait(&self->finish);
    must(mdist_run_end(self->strategy, NULL, 0, &problem));
}

static void measure(Bench *self, const char *way, void (*run)(Bench *self)) {
    double best = 0;
    for (int block = 0; block < BLOCKS; ++block) {
        const double begin = now();
        for (long i = 0; i < self->runs; ++i) run(self);
        const double time = now() - begin;
        if (block == 0 || time < best) best = time;
    }
    printf("c %s replicas=%ld ns_per_run=%.0f\n", way, self->replicas, best / (double)self->runs);
}

static void measure_entered(Bench *self) {
    Worker workers[MAX_REPLICAS];
    barrier_create(&self->start, self->replicas);
    barrier_create(&self->finish, self->replicas);
    for (uint32_t i = 1; i < self->replicas; ++i) {
        workers[i] = (Worker){.bench = self, .local_replica = i};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fputs("overhead: no thread to be had\n", stderr);
            exit(1);
        }
    }
    measure(self, "entered", run_entered);
    self->over = 1;
    barrier_wait(&self->start);
    for (uint32_t i = 1; i < self->replicas; ++i) pthread_join(workers[i].thread, NULL);
}

// Returns the number after an option, or 0 if it is not a number within bounds.
static long number(const char *text, long largest) {
    char *end;
    const long result = strtol(text, &end, 10);
    return *end == '\0' && result > 0 && result <= largest ? result : 0;
}

int main(int argument_count, char **arguments) {
    Bench bench = {.replicas = 2, .runs = 10000};
    for (int i = 1; i < argument_count; i += 2) {
        const char *const value = i + 1 < argument_count ? arguments[i + 1] : "";
        if (strcmp(arguments[i], "--replicas") == 0)
            bench.replicas = number(value, MAX_REPLICAS);
        else if (strcmp(arguments[i], "--runs") == 0)
            bench.runs = number(value, 1000000000);
        else
            bench.runs = 0;
    }
    if (bench.replicas == 0 || bench.runs == 0) {
        fprintf(stderr, "usage: overhead [--replicas 1 to %d] [--runs 1 to 1000000000]\n", MAX_REPLICAS);
        return 2;
    }
    char devices[32];
    snprintf(devices, sizeof devices, "cpu*%ld", bench.replicas);
    bench.strategy = strategy_on(devices);
    measure(&bench, "callback", run_by_callback);
    measure_entered(&bench);
    mdist_strategy_destroy(bench.strategy);
    return 0;
}
