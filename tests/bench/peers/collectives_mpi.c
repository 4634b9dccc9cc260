// SPDX-License-Identifier: Apache-2.0
// The collectives of the MPI that this is compiled with.
#include "collectives.h"

#include <mpi.h>

static int counts[kMostRanks], begins[kMostRanks];

void all_gather(void) {
    MPI_Allgatherv(input, counts[rank], MPI_FLOAT, output, counts, begins, MPI_FLOAT, MPI_COMM_WORLD);
}
void reduce_scatter(void) {
    MPI_Reduce_scatter(input, output, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
void all_to_all(void) {
    MPI_Alltoall(input, (int)total / ranks, MPI_FLOAT, output, (int)total / ranks, MPI_FLOAT, MPI_COMM_WORLD);
}
void broadcast(void) {
    MPI_Bcast(input, (int)total, MPI_FLOAT, root, MPI_COMM_WORLD);
}
void gather(void) {
    MPI_Gatherv(input, counts[rank], MPI_FLOAT, output, counts, begins, MPI_FLOAT, root, MPI_COMM_WORLD);
}
void scatter(void) {
    MPI_Scatterv(input, counts, begins, MPI_FLOAT, output, counts[rank], MPI_FLOAT, root, MPI_COMM_WORLD);
}
void reduce(void) {
    MPI_Reduce(input, output, (int)total, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
}
double over_ranks(double value, int sum) {
    double result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, sum ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
    return result;
}
void lengths_changed(void) {
    for (int i = 0; i < ranks; ++i) {
        counts[i] = (int)lengths[i];
        begins[i] = i == 0 ? 0 : begins[i - 1] + counts[i - 1];
    }
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int status = run(count, arguments);
    MPI_Finalize();
    return status;
}
