/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All collectives that move or sum parts, in one loop, for all contestants (collectives.h). A size is the bytes of a
 * rank's longer side. Rank 0 prints one line for each collective and size:
 * "all_gather bytes=4096 ns=1234.5 cpu_ns=2345.6 wrong=0". ns is the median of batches on the slowest rank, cpu_ns the
 * processor time of all ranks together for one call. The root is another rank in each call. With one root, MPI's other
 * ranks would run ahead of it, and the loop would measure how fast they can.
 *
 * "gbdt" is what LightGBM does in an iteration: 30 all-gathers and 30 reduce-scatters of about 100 KB, the parts of
 * uneven lengths, with some computing between, which takes longer on one rank than on another.
 */
#define _GNU_SOURCE
#include "collectives.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSamples = 31, kLeastSamples = 5, kRounds = 30 };
static const double kLongNs = 2e9; // all samples of a case, roughly

int rank, ranks, root;
float *input, *output;
size_t lengths[kMostRanks];
size_t total;

/// Gives each rank about the same, or (uneven) up to twice as much as another.
static void set_lengths(size_t elements, int uneven) {
    size_t weights = 0, given = 0;
    for (int i = 0; i < ranks; ++i) weights += uneven ? 3 + (size_t)i % 4 : 1;
    for (int i = 0; i < ranks; ++i) {
        lengths[i] = elements * (uneven ? 3 + (size_t)i % 4 : 1) / weights;
        given += lengths[i];
    }
    lengths[ranks - 1] += elements - given;
    total = elements;
    lengths_changed();
}

/// Computes for some microseconds, on one rank longer than on another.
static void compute(unsigned round) {
    const unsigned count = 4000 + 4000 * ((round * 7 + (unsigned)rank * 3) % 4);
    volatile float sum = 0;
    for (unsigned i = 0; i < count; ++i) sum = sum + 1.0f / (float)(i + 1);
}

static void gbdt(void) {
    for (unsigned round = 0; round < kRounds; ++round) {
        compute(round);
        reduce_scatter();
        compute(round + 1);
        all_gather();
    }
}

typedef struct collective {
    const char *name;
    void (*call)(void);
    int uneven, even_parts; // even_parts: the size must divide by the number of ranks
} collective_t;

static const collective_t kCollectives[] = {{"all_gather", all_gather, 0, 0}, {"reduce_scatter", reduce_scatter, 0, 0},
                                            {"all_to_all", all_to_all, 0, 1}, {"broadcast", broadcast, 0, 0},
                                            {"gather", gather, 0, 0},         {"scatter", scatter, 0, 0},
                                            {"reduce", reduce, 0, 0},         {"gbdt", gbdt, 1, 0}};

static void call(const collective_t *one) {
    one->call();
    root = (root + 1) % ranks;
}

/// Whether `name` is in a list that is separated by commas.
static int is_in(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; ++at)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return 1;
    return 0;
}

/// What rank `of` gives at a place. All sums of these are exact.
static float given(int of, size_t place) {
    return (float)((size_t)(of + 1) * (1 + place % 7));
}

static size_t begin_of(int of) {
    size_t begin = 0;
    for (int i = 0; i < of; ++i) begin += lengths[i];
    return begin;
}

/// What must be at place i of this rank's result, if the root is 0.
static float due(const collective_t *one, size_t i) {
    const size_t part = total / (size_t)ranks; // of all_to_all
    if (one->call == all_to_all) return given((int)(i / part), (size_t)rank * part + i % part);
    if (one->call == broadcast) return given(0, i);
    if (one->call == scatter) return given(0, begin_of(rank) + i);
    if (one->call == reduce) return (float)(ranks * (ranks + 1) / 2) * given(0, i);
    if (one->call == reduce_scatter) return (float)(ranks * (ranks + 1) / 2) * given(0, begin_of(rank) + i);
    int owner = 0;
    while (i >= begin_of(owner + 1)) ++owner;
    return given(owner, i - begin_of(owner));
}

/// Counts the wrong elements of a call.
static double wrong_after(const collective_t *one) {
    if (one->call == gbdt) // its parts: they have its lengths
        return wrong_after(&(collective_t){.call = all_gather}) + wrong_after(&(collective_t){.call = reduce_scatter});
    for (size_t i = 0; i < total; ++i) input[i] = given(rank, i), output[i] = -1;
    root = 0;
    one->call();
    const int root_only = one->call == gather || one->call == reduce;
    const float *const result = one->call == broadcast ? input : output;
    const size_t count = one->call == reduce_scatter || one->call == scatter ? lengths[rank] : total;
    double wrong = 0;
    for (size_t i = 0; i < count && (!root_only || rank == 0); ++i) wrong += result[i] != due(one, i);
    return over_ranks(wrong, 1);
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double measure(const collective_t *one, size_t bytes) {
    size_t elements = bytes / sizeof(float);
    if (one->even_parts) elements = (elements + (size_t)ranks - 1) / (size_t)ranks * (size_t)ranks;
    set_lengths(elements, one->uneven);
    const double wrong = wrong_after(one);
    for (size_t i = 0; i < total; ++i) input[i] = 0;
    const double start = now(CLOCK_MONOTONIC);
    for (int i = 0; i < 3; ++i) call(one);
    const double each = over_ranks((now(CLOCK_MONOTONIC) - start) / 3, 0);
    const unsigned batch = each > 2e6 ? 1 : (unsigned)(2e6 / each) + 1;
    const int most = (int)(kLongNs / (each * batch)); // `each` is the same on all ranks
    const int count = most < kLeastSamples ? kLeastSamples : most < kSamples ? most : kSamples;
    double samples[kSamples];
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < count; ++i) {
        const double begin = now(CLOCK_MONOTONIC);
        for (unsigned k = 0; k < batch; ++k) call(one);
        samples[i] = (now(CLOCK_MONOTONIC) - begin) / batch;
    }
    const double used = over_ranks((now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (batch * (unsigned)count), 1);
    qsort(samples, (size_t)count, sizeof *samples, compare);
    const double median = over_ranks(samples[count / 2], 0);
    if (rank == 0) printf("%s bytes=%zu ns=%.1f cpu_ns=%.1f wrong=%.0f\n", one->name, bytes, median, used, wrong);
    fflush(stdout);
    return wrong;
}

/// Arguments: collectives, separated by commas; then sizes in bytes.
int run(int count, char **arguments) {
    size_t most = 0;
    double wrong = 0;
    for (int i = 2; i < count; ++i) {
        const size_t bytes = strtoull(arguments[i], NULL, 10) + kMostRanks * sizeof(float);
        most = bytes > most ? bytes : most;
    }
    input = calloc(1, most), output = calloc(1, most);
    if (input == NULL || output == NULL || ranks > kMostRanks) return 1;
    for (size_t k = 0; k < sizeof kCollectives / sizeof *kCollectives; ++k)
        for (int i = 2; i < count && is_in(arguments[1], kCollectives[k].name); ++i)
            wrong += measure(&kCollectives[k], strtoull(arguments[i], NULL, 10));
    return wrong != 0;
}
