/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop: the program that every contestant runs, so that all are measured in the same way. Each rank times batches of
 * all-reduces (float32, sum) that are long enough for its clock. The figure of a size is the median of a rank's
 * batches, and the largest of these over all ranks. Rank 0 prints one line per size: "bytes=4096 ns=1234.5 samples=101
 * wrong=0 cpu_ns=987.6 calls=2468". The last two are the processor time of a call on the rank that uses most, and how many
 * calls of all_reduce this process has made so far.
 */
#ifndef MDIST_TEST_PEERS_LOOP_H
#define MDIST_TEST_PEERS_LOOP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kMostSizes = 32 };

typedef struct options {
    size_t sizes[kMostSizes]; // bytes
    int size_count;
    double seconds;        // roughly, for one size
    int separate;          // whether output and input are separate, instead of in place
    const char *algorithm; // for contestants that have several; "" is their default
    const char *memory;    // "ordinary", or "library" for a contestant's own memory
} options_t;

typedef struct contestant {
    void *state;
    int rank;
    int size;
    /// Allocates memory of this kind, zeroed or not. It is never freed. Returns NULL if there is none.
    void *(*allocate)(void *state, size_t bytes);
    /// May be NULL. All ranks call it before they call all_reduce with these buffers.
    void (*prepare)(void *state, float *input, float *output, size_t elements);
    void (*all_reduce)(void *state, float *input, float *output, size_t elements);
    /// Returns the largest value of all ranks, on all ranks.
    double (*largest)(void *state, double value);
} contestant_t;

/// Reads the command line. If it is wrong, prints the usage and returns 2.
int read_options(int argc, char **argv, options_t *options);
/// Allocates plain memory on pages of its own.
void *allocate_ordinary(void *state, size_t bytes);
/// Returns the exit status: 1 if memory is short or a sum was wrong.
int run_loop(const contestant_t *contestant, const options_t *options);

#ifdef __cplusplus
}
#endif

#endif
