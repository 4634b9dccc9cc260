// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce of the MPI that this is compiled with.
#include "loop.h"

#include <mpi.h>

static void all_reduce(void *state, float *input, float *output, size_t elements) {
    (void)state;
    MPI_Allreduce(input == output ? MPI_IN_PLACE : input, output, (int)elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double largest(void *state, double value) {
    (void)state;
    double result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return result;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    options_t options;
    int status = read_options(argc, argv, &options);
    if (status == 0) {
        contestant_t mpi = {.allocate = allocate_ordinary, .all_reduce = all_reduce, .largest = largest};
        MPI_Comm_rank(MPI_COMM_WORLD, &mpi.rank);
        MPI_Comm_size(MPI_COMM_WORLD, &mpi.size);
        status = run_loop(&mpi, &options);
    }
    MPI_Finalize();
    return status;
}
