// SPDX-License-Identifier: Apache-2.0
// An MPI of one rank, for tests of `mdist bench --beside`: with OPEN_MPI by Open MPI's ABI, else by MPICH's. It refuses
// what a program that takes one for the other would pass, by sums that are wrong. FAKE_MPI_SIZE is how many ranks it
// speaks of.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OPEN_MPI
typedef void *id_t_;
char ompi_mpi_comm_world, ompi_mpi_float, ompi_mpi_op_sum;
static id_t_ world(void) {
    return &ompi_mpi_comm_world;
}
static int right(const void *input, id_t_ type, id_t_ op) {
    return input == (void *)1 && type == &ompi_mpi_float && op == &ompi_mpi_op_sum;
}
#define NAME "Open MPI v0.0.0, package: none"
#else
typedef int id_t_;
static id_t_ world(void) {
    return 0x44000000;
}
static int right(const void *input, id_t_ type, id_t_ op) {
    return input == (void *)-1 && type == 0x4c00040a && op == 0x58000003;
}
#define NAME "MPICH Version:\t0.0.0\nMPICH Release date:\tnever"
#endif

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Comm_rank(id_t_ comm, int *rank);
int MPI_Comm_size(id_t_ comm, int *size);
int MPI_Get_library_version(char *text, int *length);
int MPI_Allreduce(const void *input, float *output, int count, id_t_ type, id_t_ op, id_t_ comm);
int MPI_Finalize(void);

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    (void)argc, (void)argv;
    *provided = required;
    return 0;
}

int MPI_Comm_rank(id_t_ comm, int *rank) {
    *rank = comm == world() ? 0 : -1;
    return 0;
}

int MPI_Comm_size(id_t_ comm, int *size) {
    const char *said = getenv("FAKE_MPI_SIZE");
    *size = comm != world() ? -1 : said == NULL ? 1 : atoi(said);
    return 0;
}

int MPI_Get_library_version(char *text, int *length) {
    *length = sprintf(text, "%s", NAME);
    return 0;
}

int MPI_Allreduce(const void *input, float *output, int count, id_t_ type, id_t_ op, id_t_ comm) {
    if (!right(input, type, op) || comm != world() || getenv("FAKE_MPI_WRONG") != NULL) output[count - 1] += 1;
    return 0;
}

int MPI_Finalize(void) {
    return 0;
}
