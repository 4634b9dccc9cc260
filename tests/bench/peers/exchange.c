// SPDX-License-Identifier: Apache-2.0
/*
 * Exchange: bare all-reduces of buffers in shared memory, the floors for libmdist's own memory. Nothing is checked,
 * named or waited for with a deadline.
 *
 *   pull   nobody writes into another's memory: each worker sums chunks of all buffers into its own, and copies the
 *          other chunks from those who have summed them
 *   push   each worker sums chunks of all buffers, and writes them into all buffers
 *
 * A chunk has one worker that sums it. Its flag says who that was, and that nobody needs the others' data of this chunk
 * any more, so its owner may overwrite it. The program tries all ways to cut and share the work with each size, checks
 * every element of each, and takes the fastest. PEER_SIZE says how many workers it forks. To stderr it says which way
 * it has taken; with PEER_VERBOSE, the best time of each.
 */
#define _GNU_SOURCE
#include "loop.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exchange_kernels.h"

enum { kMostWorkers = 16, kLine = 64, kHugePage = 2 << 20, kTrials = 5 };

static const size_t kChunks[] = {0, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}; // bytes; 0: one for each worker
static const size_t kLeastChunk = 4 << 10;

typedef struct line {
    _Alignas(kLine) _Atomic uint64_t value;
} line_t;

typedef struct way {
    size_t chunk;
    int streaming; // results that nobody reads soon go past the caches
    int claimed;   // whoever is free takes the next chunk, instead of equal shares
} way_t;

/// What all workers share. Chunk flags are (call number * kMostWorkers + who summed it).
typedef struct shared {
    line_t entered[kMostWorkers], left[kMostWorkers], met[kMostWorkers]; // numbers of calls and meetings
    line_t next;                                                         // the next chunk to claim; it only grows
    double values[kMostWorkers];
    line_t flags[]; // one for each chunk
} shared_t;

typedef struct worker {
    int rank, size, pushes, spins;
    char *buffers[kMostWorkers];
    shared_t *shared;
    uint64_t calls, meetings, claims; // so many until now, on all workers alike
    way_t way;
} worker_t;

static void wait_for(const worker_t *worker, _Atomic uint64_t *value, uint64_t least) {
    for (int looks = 0; atomic_load_explicit(value, memory_order_acquire) < least;)
        if (++looks > worker->spins) sched_yield();
}

static void meet(worker_t *worker, line_t *lines, uint64_t number) {
    atomic_store_explicit(&lines[worker->rank].value, number, memory_order_release);
    for (int i = 0; i < worker->size; ++i) wait_for(worker, &lines[i].value, number);
}

typedef struct cut {
    size_t elements, each, count; // of all, of a chunk; chunks
} cut_t;

static cut_t cut_of(const worker_t *worker, size_t elements) {
    const size_t bytes = elements * sizeof(float), share = (bytes + (size_t)worker->size - 1) / (size_t)worker->size;
    const size_t chunk = worker->way.chunk != 0 ? worker->way.chunk : (share + kLine - 1) / kLine * kLine;
    return (cut_t){elements, chunk / sizeof(float), (bytes + chunk - 1) / chunk};
}

static float *chunk_of(const worker_t *worker, int rank, const cut_t *cut, size_t chunk, size_t *elements) {
    const size_t begin = chunk * cut->each, left = cut->elements - begin;
    *elements = left < cut->each ? left : cut->each;
    return (float *)worker->buffers[rank] + begin;
}

/// Returns the next chunk that this worker is to sum, or `count` or more if there is none. `last` is its chunk before.
static size_t next_chunk(const worker_t *worker, size_t last) {
    if (!worker->way.claimed) return last == SIZE_MAX ? (size_t)worker->rank : last + (size_t)worker->size;
    return atomic_fetch_add_explicit(&worker->shared->next.value, 1, memory_order_relaxed) - worker->claims;
}

static void sum_chunk(const worker_t *worker, const cut_t *cut, size_t chunk) {
    float *parts[kMostWorkers];
    size_t elements = 0;
    for (int i = 0; i < worker->size; ++i)
        parts[i] = chunk_of(worker, (worker->rank + i) % worker->size, cut, chunk, &elements);
    if (worker->pushes)
        sum_to_all(parts, worker->size, elements, worker->way.streaming);
    else
        sum_to_first(parts, worker->size, elements);
}

/// Copies chunks from `*at` on, as long as they are summed, or (patient) until all are copied.
static void pull_chunks(const worker_t *worker, const cut_t *cut, size_t *at, int patient) {
    for (; *at < cut->count; ++*at) {
        _Atomic uint64_t *const flag = &worker->shared->flags[*at].value;
        if (patient) wait_for(worker, flag, worker->calls * kMostWorkers);
        const uint64_t value = atomic_load_explicit(flag, memory_order_acquire);
        if (value < worker->calls * kMostWorkers) return;
        const int owner = (int)(value % kMostWorkers);
        if (owner == worker->rank) continue;
        size_t elements = 0;
        const float *const from = chunk_of(worker, owner, cut, *at, &elements);
        copy(chunk_of(worker, worker->rank, cut, *at, &elements), from, elements, worker->way.streaming);
    }
}

static void all_reduce(void *state, float *input, float *output, size_t elements) {
    (void)input, (void)output; // always in place
    worker_t *const worker = state;
    const cut_t cut = cut_of(worker, elements);
    const uint64_t number = ++worker->calls;
    meet(worker, worker->shared->entered, number);
    size_t pulled = 0;
    for (size_t chunk = SIZE_MAX; (chunk = next_chunk(worker, chunk)) < cut.count;) {
        sum_chunk(worker, &cut, chunk);
        if (worker->pushes) continue;
        atomic_store_explicit(&worker->shared->flags[chunk].value, number * kMostWorkers + (uint64_t)worker->rank,
                              memory_order_release);
        pull_chunks(worker, &cut, &pulled, 0);
    }
    if (!worker->pushes) pull_chunks(worker, &cut, &pulled, 1);
    streams_end();
    if (worker->way.claimed) worker->claims += cut.count + (uint64_t)worker->size; // each worker asks once in vain
    meet(worker, worker->shared->left, number);
}

static double largest(void *state, double value) {
    worker_t *const worker = state;
    worker->shared->values[worker->rank] = value;
    meet(worker, worker->shared->met, ++worker->meetings);
    for (int i = 0; i < worker->size; ++i)
        value = worker->shared->values[i] > value ? worker->shared->values[i] : value;
    meet(worker, worker->shared->met, ++worker->meetings);
    return value;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/// Makes one call this way with numbers that differ from place to place, and ends the program if a sum is wrong.
static void check(worker_t *worker, size_t elements) {
    float *const data = (float *)worker->buffers[worker->rank];
    const int size = worker->size;
    double wrong = 0;
    for (size_t i = 0; i < elements; ++i) data[i] = (float)((size_t)(worker->rank + 1) * (i % 1009));
    all_reduce(worker, data, data, elements);
    for (size_t i = 0; i < elements; ++i) wrong += data[i] != (float)((size_t)(size * (size + 1) / 2) * (i % 1009));
    if (largest(worker, wrong) == 0) return;
    fprintf(stderr, "chunks of %zu bytes, streaming %d, claimed %d: rank %d has %.0f wrong sums\n", worker->way.chunk,
            worker->way.streaming, worker->way.claimed, worker->rank, wrong);
    exit(1);
}

/// Returns the seconds of a call on the slowest worker, in the best of some trials; of one, if that took far more than
/// `least`.
static double timed(worker_t *worker, size_t elements, double least) {
    double best = 1e9;
    for (int trial = 0; trial < kTrials && (trial == 0 || best < 2 * least); ++trial) {
        const int calls = elements < 1 << 18 ? 20 : 1;
        const double begin = now();
        for (int i = 0; i < calls; ++i) all_reduce(worker, NULL, NULL, elements);
        const double each = largest(worker, (now() - begin) / calls);
        best = each < best ? each : best;
    }
    return best;
}

static void tell(const worker_t *worker, size_t elements, way_t way, double seconds, const char *what) {
    if (worker->rank != 0) return;
    fprintf(stderr, "%zu bytes, %s: chunks of %zu, %s the caches, %s: %.1f us\n", elements * sizeof(float), what,
            way.chunk, way.streaming ? "past" : "through", way.claimed ? "claimed" : "shared out", seconds * 1e6);
}

/// Tries all ways, and keeps the fastest: the same on all workers, since `timed` is.
static void prepare(void *state, float *input, float *output, size_t elements) {
    (void)input, (void)output;
    worker_t *const worker = state;
    way_t fastest = {0, 0, 0};
    double least = 1e9;
    for (size_t k = 0; k < sizeof kChunks / sizeof *kChunks; ++k)
        for (int kind = 0; kind < 4; ++kind) {
            if (kChunks[k] * 2 > elements * sizeof(float)) continue;
            worker->way = (way_t){kChunks[k], kind & 1, kind >> 1};
            check(worker, elements);
            for (size_t i = 0; i < elements; ++i) ((float *)worker->buffers[worker->rank])[i] = 1;
            const double each = timed(worker, elements, least);
            if (getenv("PEER_VERBOSE") != NULL) tell(worker, elements, worker->way, each, "tried");
            if (each < least) least = each, fastest = worker->way;
        }
    worker->way = fastest;
    tell(worker, elements, fastest, least, "taken");
}

static void *allocate(void *state, size_t bytes) {
    const worker_t *const worker = state;
    (void)bytes; // main() has made room for the largest
    return worker->buffers[worker->rank];
}

static int work(worker_t *worker, int rank, const options_t *options) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    worker->rank = rank;
    const contestant_t contestant = {.state = worker,
                                     .rank = rank,
                                     .size = worker->size,
                                     .allocate = allocate,
                                     .prepare = prepare,
                                     .all_reduce = all_reduce,
                                     .largest = largest};
    return run_loop(&contestant, options);
}

static void *map(size_t bytes) {
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "no shared memory of %zu bytes\n", bytes);
        exit(1);
    }
    madvise(memory, bytes, MADV_HUGEPAGE); // only a hint; most systems refuse it
    return memory;
}

int main(int argc, char **argv) {
    options_t options;
    if (read_options(argc, argv, &options) != 0) return 2;
    const char *const size = getenv("PEER_SIZE");
    worker_t worker = {.size = size != NULL ? atoi(size) : 2, .pushes = strcmp(options.algorithm, "push") == 0};
    if (worker.size < 1 || worker.size > kMostWorkers) {
        fprintf(stderr, "PEER_SIZE %s: must be from 1 to %d\n", size, kMostWorkers);
        return 2;
    }
    // Looks before a wait gives its core away: some 3 us, or next to nothing where the cores do not suffice.
    worker.spins = worker.size > (int)sysconf(_SC_NPROCESSORS_ONLN) ? 100 : 5000;
    size_t most = 0;
    for (int i = 0; i < options.size_count; ++i) most = options.sizes[i] > most ? options.sizes[i] : most;
    const size_t chunks = most / kLeastChunk + kMostWorkers + 1;
    worker.shared = map(sizeof *worker.shared + chunks * sizeof(line_t));
    for (int i = 0; i < worker.size; ++i) worker.buffers[i] = map((most + kHugePage - 1) / kHugePage * kHugePage);
    for (int i = 0; i < worker.size; ++i)
        if (fork() == 0) return work(&worker, i, &options);
    int failed = 0;
    for (int i = 0, status = 0; i < worker.size && wait(&status) > 0; ++i) failed |= status != 0;
    return failed;
}
