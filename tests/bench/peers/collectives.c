/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All collectives that move or sum parts, in one loop, for libmdist and (compiled with WITH_MPI) for MPI. float32, sum.
 * A size is the bytes of a rank's longer side. Rank 0 prints one line for each collective and size:
 * "all_gather bytes=4096 ns=1234.5 cpu_ns=2345.6 wrong=0". ns is the median of batches on the slowest rank, cpu_ns the
 * processor time of all ranks together for one call. The root is another rank in each call. With one root, MPI's other
 * ranks would run ahead of it, and the loop would measure how fast they can.
 *
 * "gbdt" is what LightGBM does in an iteration: 30 all-gathers and 30 reduce-scatters of about 100 KB, the parts of
 * uneven lengths, with some computing between, which takes longer on one rank than on another.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_MPI
#include <mpi.h>
#else
#include <mdist/mdist.h>
#endif

enum { kMostRanks = 64, kSamples = 31, kRounds = 30 };

static int rank, ranks, root;
static float *input, *output;
static size_t lengths[kMostRanks]; // elements of each rank's part
static size_t total;

#ifdef WITH_MPI
static int counts[kMostRanks], begins[kMostRanks];

static void all_gather(void) {
    MPI_Allgatherv(input, counts[rank], MPI_FLOAT, output, counts, begins, MPI_FLOAT, MPI_COMM_WORLD);
}
static void reduce_scatter(void) { MPI_Reduce_scatter(input, output, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void all_to_all(void) {
    MPI_Alltoall(input, (int)total / ranks, MPI_FLOAT, output, (int)total / ranks, MPI_FLOAT, MPI_COMM_WORLD);
}
static void broadcast(void) { MPI_Bcast(input, (int)total, MPI_FLOAT, root, MPI_COMM_WORLD); }
static void gather(void) {
    MPI_Gatherv(input, counts[rank], MPI_FLOAT, output, counts, begins, MPI_FLOAT, root, MPI_COMM_WORLD);
}
static void scatter(void) {
    MPI_Scatterv(input, counts, begins, MPI_FLOAT, output, counts[rank], MPI_FLOAT, root, MPI_COMM_WORLD);
}
static void reduce(void) { MPI_Reduce(input, output, (int)total, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD); }
static double over_ranks(double value, int sum) {
    double result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, sum ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
    return result;
}
static void lengths_changed(void) {
    for (int i = 0; i < ranks; ++i) {
        counts[i] = (int)lengths[i];
        begins[i] = i == 0 ? 0 : begins[i - 1] + counts[i - 1];
    }
}
#else
static mdist_replica_t *replica;
static mdist_error_t *error;

static void must(mdist_status_t status) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "%s\n", mdist_error_message(error));
    exit(1);
}
static mdist_buffer_t in(size_t elements) { return (mdist_buffer_t){input, elements, MDIST_FLOAT32, 0}; }
static mdist_buffer_t out(size_t elements) {
    return (mdist_buffer_t){elements == 0 ? NULL : output, elements, MDIST_FLOAT32, 0};
}
static size_t at_root(size_t elements) { return rank == root ? elements : 0; }

static void all_gather(void) {
    const mdist_buffer_t from = in(lengths[rank]), to = out(total);
    must(mdist_all_gather(replica, &from, &to, 1, NULL, &error));
}
static void reduce_scatter(void) {
    const mdist_buffer_t from = in(total), to = out(lengths[rank]);
    must(mdist_reduce_scatter(replica, MDIST_SUM, &from, &to, 1, NULL, &error));
}
static void all_to_all(void) {
    const mdist_buffer_t from = in(total), to = out(total);
    must(mdist_all_to_all(replica, &from, &to, 1, NULL, &error));
}
static void broadcast(void) {
    const mdist_buffer_t buffer = in(total);
    must(mdist_broadcast(replica, (uint32_t)root, &buffer, 1, NULL, &error));
}
static void gather(void) {
    const mdist_buffer_t from = in(lengths[rank]), to = out(at_root(total));
    must(mdist_gather_to_root(replica, (uint32_t)root, &from, &to, 1, NULL, &error));
}
static void scatter(void) {
    mdist_buffer_t from = in(at_root(total));
    const mdist_buffer_t to = out(lengths[rank]);
    if (rank != root) from.data = NULL;
    must(mdist_scatter(replica, (uint32_t)root, &from, &to, 1, NULL, &error));
}
static void reduce(void) {
    const mdist_buffer_t from = in(total), to = out(at_root(total));
    must(mdist_reduce_to_root(replica, MDIST_SUM, (uint32_t)root, &from, &to, 1, NULL, &error));
}
static double over_ranks(double value, int sum) {
    const mdist_buffer_t buffer = {&value, 1, MDIST_FLOAT64, 0};
    must(mdist_all_reduce(replica, sum ? MDIST_SUM : MDIST_MAX, &buffer, &buffer, 1, NULL, &error));
    return value;
}
static void lengths_changed(void) {}
#endif

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

static const collective_t kCollectives[] = {{"all_gather", all_gather, 0, 0},   {"reduce_scatter", reduce_scatter, 0, 0},
                                            {"all_to_all", all_to_all, 0, 1},   {"broadcast", broadcast, 0, 0},
                                            {"gather", gather, 0, 0},           {"scatter", scatter, 0, 0},
                                            {"reduce", reduce, 0, 0},           {"gbdt", gbdt, 1, 0}};

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

/// Counts the wrong elements of a call, whose results are small whole numbers.
static double wrong_after(const collective_t *one) {
    for (size_t i = 0; i < total; ++i) input[i] = (float)(rank + 1), output[i] = -1;
    root = 0;
    one->call();
    const int sums = one->call == reduce_scatter || one->call == reduce;
    const int root_only = one->call == gather || one->call == reduce;
    const float *const result = one->call == broadcast ? input : output;
    const size_t count = one->call == reduce_scatter || one->call == scatter ? lengths[rank] : total;
    double wrong = 0;
    if (one->call == gbdt || (root_only && rank != 0)) return over_ranks(0, 1);
    for (size_t i = 0, owner = 0, end = lengths[0]; i < count; ++i) {
        while (i >= end) end += lengths[++owner];
        const float due = sums ? (float)(ranks * (ranks + 1) / 2)
                          : one->call == broadcast || one->call == scatter ? 1.0f
                          : one->call == all_to_all ? (float)(i / (total / (size_t)ranks) + 1) : (float)(owner + 1);
        wrong += result[i] != due;
    }
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
    double samples[kSamples];
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < kSamples; ++i) {
        const double begin = now(CLOCK_MONOTONIC);
        for (unsigned k = 0; k < batch; ++k) call(one);
        samples[i] = (now(CLOCK_MONOTONIC) - begin) / batch;
    }
    const double used = over_ranks((now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (batch * kSamples), 1);
    qsort(samples, kSamples, sizeof *samples, compare);
    const double median = over_ranks(samples[kSamples / 2], 0);
    if (rank == 0) printf("%s bytes=%zu ns=%.1f cpu_ns=%.1f wrong=%.0f\n", one->name, bytes, median, used, wrong);
    fflush(stdout);
    return wrong;
}

/// Arguments: collectives, separated by commas; then sizes in bytes.
static int run(int count, char **arguments) {
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

#ifdef WITH_MPI
int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int status = run(count, arguments);
    MPI_Finalize();
    return status;
}
#else
typedef struct command {
    int count;
    char **arguments;
} command_t;

static int32_t step(mdist_replica_t *own, void *user_data) {
    const command_t *const command = user_data;
    replica = own;
    rank = (int)mdist_replica_id(own);
    ranks = (int)mdist_replica_count(own);
    return run(command->count, command->arguments);
}

int main(int count, char **arguments) {
    command_t command = {count, arguments};
    mdist_strategy_t *strategy = NULL;
    must(mdist_strategy_create(NULL, &strategy, &error));
    must(mdist_run(strategy, step, &command, NULL, 0, NULL, 0, NULL, &error));
    mdist_strategy_destroy(strategy);
    return 0;
}
#endif
