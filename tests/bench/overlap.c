// SPDX-License-Identifier: Apache-2.0
// Overlap: a backward pass that makes its gradients bucket by bucket, and takes as long as reducing them does. How long
// do both take in turn, and how long if each bucket's reduction is started as soon as it is there?
//
// One replica per worker; overlap.sh starts it between hosts. Worker 0 prints. Usage: overlap [BUCKETS KIB ROUNDS]
#include <mdist/mdist.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_BUCKETS = 64, MOST_ROUNDS = 50, NUMBERS = 2048 };

typedef enum Way { COMPUTE, REDUCE, IN_TURN, OVERLAPPED, WAYS } Way;

typedef struct Times {
    double seconds, busy; // of the wall and of the processor
} Times;

typedef struct Bench {
    mdist_replica_t *replica;
    mdist_buffer_t buckets[MOST_BUCKETS];
    size_t count;
    uint64_t sweeps; // of the computation that makes one bucket
    float numbers[NUMBERS];
    Times times[WAYS][MOST_ROUNDS];
    int rounds;
} Bench;

static void must(mdist_status_t status, mdist_error_t *error) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "overlap: %s\n", mdist_error_message(error));
    exit(1);
}

static double now(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

/// One piece of code wherever it is called: compiled into its callers it would take a different time in each.
__attribute__((noinline)) static void compute(Bench *self, uint64_t sweeps) {
    for (uint64_t sweep = 0; sweep < sweeps; ++sweep)
        for (int i = 0; i < NUMBERS; ++i) self->numbers[i] = self->numbers[i] * 0.999f + 0.5f;
}

static void reduce(Bench *self, size_t bucket) {
    mdist_error_t *error = NULL;
    const mdist_buffer_t *buffer = &self->buckets[bucket];
    must(mdist_all_reduce(self->replica, MDIST_MEAN, buffer, buffer, 1, NULL, &error), error);
}

static void overlapped(Bench *self) {
    mdist_error_t *error = NULL;
    mdist_work_t *works[MOST_BUCKETS];
    int32_t done = 0;
    for (size_t b = 0; b < self->count; ++b) {
        const mdist_buffer_t *buffer = &self->buckets[b];
        compute(self, self->sweeps);
        must(mdist_all_reduce_start(self->replica, MDIST_MEAN, buffer, buffer, 1, &works[b], NULL, &error), error);
    }
    for (size_t b = 0; b < self->count; ++b) {
        must(mdist_work_wait(works[b], MDIST_FOREVER, &done, &error), error);
        mdist_work_destroy(works[b]);
    }
}

/// Of the slowest worker.
static Times timed(Bench *self, Way way) {
    mdist_error_t *error = NULL;
    must(mdist_barrier(self->replica, NULL, &error), error);
    const double begin = now(CLOCK_MONOTONIC), busy = now(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t b = 0; way != OVERLAPPED && b < self->count; ++b)
        if (way != REDUCE) compute(self, self->sweeps);
    for (size_t b = 0; way != OVERLAPPED && b < self->count; ++b)
        if (way != COMPUTE) reduce(self, b);
    if (way == OVERLAPPED) overlapped(self);
    Times times = {now(CLOCK_MONOTONIC) - begin, now(CLOCK_PROCESS_CPUTIME_ID) - busy};
    const mdist_buffer_t slowest = {&times, 2, MDIST_FLOAT64, 0};
    must(mdist_all_reduce(self->replica, MDIST_MAX, &slowest, &slowest, 1, NULL, &error), error);
    return times;
}

/// So many sweeps that computing takes as long as reducing, on worker 0; the same for all.
static void balance(Bench *self) {
    mdist_error_t *error = NULL;
    const uint64_t some = 20000;
    (void)timed(self, REDUCE); // memory and connections are warm
    const double reduction = timed(self, REDUCE).seconds / (double)self->count;
    const double begin = now(CLOCK_MONOTONIC);
    compute(self, some);
    self->sweeps = (uint64_t)((double)some * reduction / (now(CLOCK_MONOTONIC) - begin)) + 1;
    const mdist_buffer_t sweeps = {&self->sweeps, 1, MDIST_UINT64, 0};
    must(mdist_broadcast(self->replica, 0, &sweeps, 1, NULL, &error), error);
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Bench *self = user_data;
    self->replica = replica;
    balance(self);
    for (int round = 0; round < self->rounds; ++round)
        for (Way way = COMPUTE; way < WAYS; ++way) self->times[way][round] = timed(self, way);
    return 0;
}

static int smaller(const void *a, const void *b) {
    const double x = ((const Times *)a)->seconds, y = ((const Times *)b)->seconds;
    return (x > y) - (x < y);
}

static void print(Bench *self, size_t kib) {
    static const char *const names[] = {"computing alone", "reducing alone", "both in turn", "both overlapped"};
    Times median[WAYS];
    for (Way way = COMPUTE; way < WAYS; ++way) {
        qsort(self->times[way], (size_t)self->rounds, sizeof(Times), smaller);
        median[way] = self->times[way][self->rounds / 2];
    }
    const double longer =
        median[COMPUTE].seconds > median[REDUCE].seconds ? median[COMPUTE].seconds : median[REDUCE].seconds;
    printf("%zu buckets of %zu KiB, medians of %d rounds\n", self->count, kib, self->rounds);
    for (Way way = COMPUTE; way < WAYS; ++way)
        printf("%-16s %8.1f ms  %.2fx the longer   %8.1f ms of a core per worker\n", names[way],
               median[way].seconds * 1e3, median[way].seconds / longer, median[way].busy * 1e3);
}

static size_t number(int count, char **arguments, int which, size_t otherwise, size_t most) {
    const size_t given = which < count ? strtoul(arguments[which], NULL, 10) : otherwise;
    return given == 0 ? 1 : given > most ? most : given;
}

int main(int argument_count, char **arguments) {
    static Bench self;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    self.count = number(argument_count, arguments, 1, 16, MOST_BUCKETS);
    const size_t kib = number(argument_count, arguments, 2, 4096, 1 << 20);
    self.rounds = (int)number(argument_count, arguments, 3, 7, MOST_ROUNDS);
    must(mdist_strategy_create(NULL, &strategy, &error), error);
    for (size_t b = 0; b < self.count; ++b) {
        void *memory = NULL;
        must(mdist_alloc(strategy, 0, kib * 1024, &memory, &error), error);
        self.buckets[b] = (mdist_buffer_t){memory, kib * 256, MDIST_FLOAT32, 0};
    }
    must(mdist_run(strategy, step, &self, NULL, 0, NULL, 0, NULL, &error), error);
    if (mdist_strategy_worker(strategy) == 0) print(&self, kib);
    for (size_t b = 0; b < self.count; ++b) mdist_free(self.buckets[b].data);
    mdist_strategy_destroy(strategy);
    return 0;
}
