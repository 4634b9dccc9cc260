// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "loop.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostSamples = 1001, kLeastSamples = 3, kMostBatch = 10000 };

static const double kTrialSeconds = 5e-3;
static const double kBatchSeconds = 1e-4;
static const double kLongSeconds = 0.5; // if an operation takes this long, one sample is enough

static unsigned long calls; // of all_reduce, so far

typedef struct run {
    const contestant_t *who;
    float *input;
    float *output;
    size_t elements;
} run_t;

int read_options(int argc, char **argv, options_t *options) {
    static const struct option known[] = {
        {"sizes", required_argument, NULL, 's'},  {"seconds", required_argument, NULL, 't'},
        {"separate", no_argument, NULL, 'o'},     {"algorithm", required_argument, NULL, 'a'},
        {"memory", required_argument, NULL, 'm'}, {NULL, 0, NULL, 0}};
    *options = (options_t){.seconds = 0.1, .algorithm = "", .memory = "ordinary"};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == '?') return 2;
        if (option == 't') options->seconds = atof(optarg);
        if (option == 'o') options->separate = 1;
        if (option == 'a') options->algorithm = optarg;
        if (option == 'm') options->memory = optarg;
        if (option != 's') continue;
        for (char *at = optarg; *at != '\0' && options->size_count < kMostSizes; at += *at == ',')
            options->sizes[options->size_count++] = strtoull(at, &at, 10);
    }
    if (options->size_count > 0) return 0;
    fprintf(stderr, "%s: --sizes BYTES,BYTES... says what to measure\n", argv[0]);
    return 2;
}

void *allocate_ordinary(void *state, size_t bytes) {
    (void)state;
    void *memory = NULL;
    return posix_memalign(&memory, 4096, bytes) == 0 ? memory : NULL;
}

static double clock_now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void) {
    return clock_now(CLOCK_MONOTONIC);
}

static int compare(const void *left, const void *right) {
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/// Returns the seconds per operation of a batch.
static double timed(const run_t *run, unsigned batch) {
    calls += batch;
    const double start = now();
    for (unsigned i = 0; i < batch; ++i) run->who->all_reduce(run->who->state, run->input, run->output, run->elements);
    return (now() - start) / batch;
}

/// Small whole numbers, whose sums are exact. Returns how many are wrong on the rank that has most.
static double check(const run_t *run) {
    const int size = run->who->size;
    for (size_t i = 0; i < run->elements; ++i) run->input[i] = (float)(run->who->rank + (int)(i % 7));
    timed(run, 1);
    double wrong = 0;
    for (size_t i = 0; i < run->elements; ++i)
        wrong += run->output[i] != (float)(size * (size - 1) / 2 + size * (int)(i % 7));
    return run->who->largest(run->who->state, wrong);
}

/// Warms everything up, and returns roughly the seconds per operation, the same number on all ranks.
static double trial(const run_t *run) {
    for (unsigned batch = 1;; batch *= 4) {
        const double each = run->who->largest(run->who->state, timed(run, batch));
        if (each * batch > kTrialSeconds || batch > kMostBatch) return each;
    }
}

static double clamp(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

/// Returns the number of wrong elements.
static double measure(const run_t *run, double seconds) {
    const double wrong = check(run);
    // Repeated sums in place end in infinity. Adding infinities takes as long as adding other numbers, unlike
    // denormals.
    for (size_t i = 0; i < run->elements; ++i) run->input[i] = 1;
    const double each = trial(run);
    const unsigned batch = (unsigned)clamp(kBatchSeconds / each, 1, kMostBatch);
    const int least = each > kLongSeconds ? 1 : kLeastSamples;
    const int count = (int)clamp(seconds / (each * batch), least, kMostSamples);
    double samples[kMostSamples];
    const double used = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < count; ++i) samples[i] = timed(run, batch);
    const double each_used = (clock_now(CLOCK_PROCESS_CPUTIME_ID) - used) / (batch * (unsigned)count);
    const double most_used = run->who->largest(run->who->state, each_used);
    qsort(samples, (size_t)count, sizeof *samples, compare);
    const double median = run->who->largest(run->who->state, samples[count / 2]);
    if (run->who->rank == 0) {
        printf("bytes=%zu ns=%.1f samples=%d wrong=%.0f cpu_ns=%.1f calls=%lu\n", run->elements * sizeof(float),
               median * 1e9, count, wrong, most_used * 1e9, calls);
        fflush(stdout);
    }
    return wrong;
}

int run_loop(const contestant_t *contestant, const options_t *options) {
    size_t most = 0;
    for (int i = 0; i < options->size_count; ++i) most = options->sizes[i] > most ? options->sizes[i] : most;
    float *input = contestant->allocate(contestant->state, most);
    float *output = options->separate ? contestant->allocate(contestant->state, most) : input;
    if (input == NULL || output == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", most);
        return 1;
    }
    memset(input, 0, most);
    memset(output, 0, most);
    double wrong = 0;
    for (int i = 0; i < options->size_count; ++i) {
        const run_t run = {contestant, input, output, options->sizes[i] / sizeof(float)};
        if (contestant->prepare != NULL) contestant->prepare(contestant->state, input, output, run.elements);
        wrong += measure(&run, options->seconds);
    }
    return wrong > 0;
}
