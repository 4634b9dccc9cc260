/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What collectives.c measures, and who makes the collectives: one of collectives_mdist.c, collectives_mpi.c and
 * collectives_sockets.c is linked with it, and has main(). float32, sum.
 */
#ifndef MDIST_TEST_PEERS_COLLECTIVES_H
#define MDIST_TEST_PEERS_COLLECTIVES_H

#include <stddef.h>

enum { kMostRanks = 64 };

extern int rank, ranks, root;
extern float *input, *output;
extern size_t lengths[kMostRanks]; // elements of each rank's part
extern size_t total;               // their sum

/// main() calls it when rank and ranks are known. Returns the exit status.
int run(int count, char **arguments);

// The rest is the contestant's. The input of a reduce_scatter may be destroyed.
void all_gather(void);
void reduce_scatter(void);
void all_to_all(void);
void broadcast(void);
void gather(void);
void scatter(void);
void reduce(void);
/// Returns the sum or the largest of all ranks' values, on all ranks.
double over_ranks(double value, int sum);
void lengths_changed(void);

#endif
