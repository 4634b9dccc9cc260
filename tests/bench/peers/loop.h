/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop: what every contestant runs, so that all are timed alike. Each rank times batches of all-reduces (float32, sum),
 * long enough for its clock; the figure of a size is the median of its batches, and of that the largest of all ranks.
 * Rank 0 prints, a line per size: "bytes=4096 ns=1234.5 samples=101 wrong=0".
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
    double seconds;        // to spend on one size, about
    int separate;          // output apart from the input, instead of in place
    const char *algorithm; // contestants that have several; "" is their default
    const char *memory;    // "ordinary", or "library" where a contestant has its own
} options_t;

typedef struct contestant {
    void *state;
    int rank;
    int size;
    /// Memory of this kind for this many bytes, zeroed or not; NULL: there is none. Never freed.
    void *(*allocate)(void *state, size_t bytes);
    /// May be NULL. Told by all ranks before all_reduce is called with these.
    void (*prepare)(void *state, float *input, float *output, size_t elements);
    void (*all_reduce)(void *state, float *input, float *output, size_t elements);
    /// The largest value of all ranks, on all ranks.
    double (*largest)(void *state, double value);
} contestant_t;

/// Reads the command line; explains itself and returns 2 if it cannot.
int read_options(int argc, char **argv, options_t *options);
/// Plain memory on a page of its own.
void *allocate_ordinary(void *state, size_t bytes);
/// Returns the exit status: 1 if memory is short or a sum was wrong.
int run_loop(const contestant_t *contestant, const options_t *options);

#ifdef __cplusplus
}
#endif

#endif
