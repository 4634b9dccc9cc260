// SPDX-License-Identifier: Apache-2.0
// Overlap: simulates a backward pass that makes its gradients bucket by bucket, and takes as long as their reduction.
// It measures how long both take one after the other, and how long if each bucket's reduction starts as soon as the
// bucket is ready: with work.h, and with gradients.h. It also measures what buckets and the norm cost beside one
// all-reduce of the same bytes.
//
// One replica per worker; overlap.sh starts it between hosts. Worker 0 prints. Usage: overlap [BUCKETS KIB ROUNDS]
#include <mdist/mdist.h>
#include "started.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_BUCKETS = 64, MOST_ROUNDS = 50, NUMBERS = 2048 };

typedef enum Way {
    COMPUTE,
    WHOLE,  // one all-reduce of everything
    REDUCE, // one for each bucket
    GRADIENTS,
    PLAIN_GRADIENTS, // without norm
    IN_TURN,
    OVERLAPPED,
    GRADIENTS_OVERLAPPED,
    WAYS
} Way;

typedef struct Times {
    double seconds, busy; // wall-clock time, processor time
} Times;

typedef struct Bench {
    mdist_replica_t *replica;
    mdist_gradients_t *gradients, *plain; // one for each bucket
    mdist_buffer_t buckets[MOST_BUCKETS], whole;
    size_t count;
    uint64_t sweeps; // how much computation makes one bucket
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

/// Not inlined: compiled into each caller, the same code would take a different time.
__attribute__((noinline)) static void compute(Bench *self, uint64_t sweeps) {
    for (uint64_t sweep = 0; sweep < sweeps; ++sweep)
        for (int i = 0; i < NUMBERS; ++i) self->numbers[i] = self->numbers[i] * 0.999f + 0.5f;
}

static void reduce(Bench *self, const mdist_buffer_t *buffer) {
    mdist_error_t *error = NULL;
    must(mdist_all_reduce(self->replica, MDIST_MEAN, buffer, buffer, 1, NULL, &error), error);
}

static void overlapped(Bench *self) {
    mdist_error_t *error = NULL;
    mdist_work_t *works[MOST_BUCKETS];
    int32_t done = 0;
    for (size_t b = 0; b < self->count; ++b) {
        const mdist_buffer_t *buffer = &self->buckets[b];
        compute(self, self->sweeps);
        must(start_all_reduce(self->replica, MDIST_MEAN, buffer, buffer, 1, &works[b], NULL, &error), error);
    }
    for (size_t b = 0; b < self->count; ++b) {
        must(mdist_work_wait(works[b], MDIST_FOREVER, &done, &error), error);
        mdist_work_destroy(works[b]);
    }
}

static void by_gradients(Bench *self, mdist_gradients_t *gradients, uint64_t sweeps) {
    mdist_error_t *error = NULL;
    for (size_t b = 0; b < self->count; ++b) {
        compute(self, sweeps);
        must(mdist_gradients_ready(self->replica, gradients, self->count - 1 - b, &error), error);
    }
    must(mdist_gradients_wait(self->replica, gradients, NULL, NULL, &error), error);
}

static void go(Bench *self, Way way) {
    if (way == WHOLE) reduce(self, &self->whole);
    if (way == OVERLAPPED) overlapped(self);
    if (way == GRADIENTS) by_gradients(self, self->gradients, 0);
    if (way == PLAIN_GRADIENTS) by_gradients(self, self->plain, 0);
    if (way == GRADIENTS_OVERLAPPED) by_gradients(self, self->gradients, self->sweeps);
    if (way == COMPUTE || way == IN_TURN) compute(self, self->sweeps * self->count);
    for (size_t b = 0; (way == REDUCE || way == IN_TURN) && b < self->count; ++b) reduce(self, &self->buckets[b]);
}

/// Returns the value of the slowest worker.
static Times timed(Bench *self, Way way) {
    mdist_error_t *error = NULL;
    must(mdist_barrier(self->replica, NULL, &error), error);
    const double begin = now(CLOCK_MONOTONIC), busy = now(CLOCK_PROCESS_CPUTIME_ID);
    go(self, way);
    Times times = {now(CLOCK_MONOTONIC) - begin, now(CLOCK_PROCESS_CPUTIME_ID) - busy};
    const mdist_buffer_t slowest = {&times, 2, MDIST_FLOAT64, 0};
    must(mdist_all_reduce(self->replica, MDIST_MAX, &slowest, &slowest, 1, NULL, &error), error);
    return times;
}

/// Sets the number of sweeps so that computing takes as long as reducing on worker 0. All workers get the same number.
static void balance(Bench *self) {
    mdist_error_t *error = NULL;
    const uint64_t some = 20000;
    double reduction = 1e9; // the best of several, so that other programs do not count
    for (int i = 0; i < 5; ++i) {
        const double seconds = timed(self, REDUCE).seconds / (double)self->count;
        if (seconds < reduction) reduction = seconds;
    }
    const double begin = now(CLOCK_THREAD_CPUTIME_ID);
    compute(self, some);
    self->sweeps = (uint64_t)((double)some * reduction / (now(CLOCK_THREAD_CPUTIME_ID) - begin)) + 1;
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
    static const char *const names[] = {
        "computing alone",        "one all-reduce", "one for each bucket",  "gradients",
        "gradients without norm", "in turn",        "overlapped, by works", "overlapped, by gradients"};
    Times median[WAYS];
    for (Way way = COMPUTE; way < WAYS; ++way) {
        qsort(self->times[way], (size_t)self->rounds, sizeof(Times), smaller);
        median[way] = self->times[way][self->rounds / 2];
    }
    const double longer =
        median[COMPUTE].seconds > median[REDUCE].seconds ? median[COMPUTE].seconds : median[REDUCE].seconds;
    printf("%zu buckets of %zu KiB, medians of %d rounds\n", self->count, kib, self->rounds);
    for (Way way = COMPUTE; way < WAYS; ++way)
        printf("%-24s %8.2f ms  %.2fx the longer  %.2fx one all-reduce   %8.2f ms of a core per worker\n", names[way],
               median[way].seconds * 1e3, median[way].seconds / longer, median[way].seconds / median[WHOLE].seconds,
               median[way].busy * 1e3);
}

static size_t number(int count, char **arguments, int which, size_t otherwise, size_t most) {
    const size_t given = which < count ? strtoul(arguments[which], NULL, 10) : otherwise;
    return given == 0 ? 1 : given > most ? most : given;
}

static void make_buckets(Bench *self, mdist_strategy_t *strategy, size_t kib) {
    mdist_error_t *error = NULL;
    mdist_gradients_options_t options = {.struct_size = sizeof options, .op = MDIST_MEAN, .bucket_bytes = kib * 1024};
    mdist_tensor_t like[MOST_BUCKETS], tensor;
    for (size_t b = 0; b < self->count; ++b)
        like[b] = (mdist_tensor_t){.dtype = MDIST_FLOAT32, .rank = 1, .shape = {kib * 256}};
    must(mdist_gradients_create(strategy, like, self->count, &self->gradients, &options, &error), error);
    options.flags = MDIST_GRADIENTS_NO_NORM;
    must(mdist_gradients_create(strategy, like, self->count, &self->plain, &options, &error), error);
    for (size_t b = 0; b < self->count; ++b) {
        must(mdist_gradients_tensor(self->gradients, 0, self->count - 1 - b, &tensor, &error), error);
        self->buckets[b] = (mdist_buffer_t){tensor.data, kib * 256, MDIST_FLOAT32, 0};
    }
    self->whole = self->buckets[0]; // the other buckets follow it in memory
    self->whole.elements *= self->count;
}

int main(int argument_count, char **arguments) {
    static Bench self;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    self.count = number(argument_count, arguments, 1, 16, MOST_BUCKETS);
    const size_t kib = number(argument_count, arguments, 2, 4096, 1 << 20);
    self.rounds = (int)number(argument_count, arguments, 3, 7, MOST_ROUNDS);
    must(mdist_strategy_create(NULL, &strategy, &error), error);
    make_buckets(&self, strategy, kib);
    must(mdist_run(strategy, step, &self, NULL, &error), error);
    if (mdist_strategy_rank(strategy) == 0) print(&self, kib);
    mdist_gradients_destroy(self.gradients);
    mdist_gradients_destroy(self.plain);
    mdist_strategy_destroy(strategy);
    return 0;
}
