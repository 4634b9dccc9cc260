/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ping-pong: one buffer goes from rank 0 to rank 1 and back, by blocking calls; with -DWITH_MPI by those of an MPI. It
 * prints half of the time of a round trip, the median of batches: "bytes=4096 ns=1234.5 samples=101 wrong=0".
 */
#define _POSIX_C_SOURCE 200809L
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

enum { kSamples = 1001 };

typedef struct side {
    void *replica; // of libmdist
    int rank;
} side_t;

static void send_to(side_t *side, int rank, char *data, size_t bytes) {
#ifdef WITH_MPI
    (void)side;
    MPI_Send(data, (int)bytes, MPI_CHAR, rank, 0, MPI_COMM_WORLD);
#else
    const mdist_buffer_t buffer = {data, bytes, MDIST_UINT8, 0};
    if (mdist_send(side->replica, (uint32_t)rank, 0, &buffer, NULL, NULL) != MDIST_OK) exit(4);
#endif
}

static void receive_from(side_t *side, int rank, char *data, size_t bytes) {
#ifdef WITH_MPI
    (void)side;
    MPI_Recv(data, (int)bytes, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
    const mdist_buffer_t buffer = {data, bytes, MDIST_UINT8, 0};
    if (mdist_receive(side->replica, (uint32_t)rank, 0, &buffer, NULL, NULL) != MDIST_OK) exit(5);
#endif
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double trips(side_t *side, char *data, size_t bytes, int count) {
    const double begin = now_ns();
    for (int i = 0; i < count; ++i) {
        if (side->rank == 0) send_to(side, 1, data, bytes);
        receive_from(side, 1 - side->rank, data, bytes);
        if (side->rank == 1) send_to(side, 0, data, bytes);
    }
    return (now_ns() - begin) / (2.0 * count);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(side_t *side, size_t bytes) {
    char *const data = malloc(bytes);
    double samples[kSamples];
    if (data == NULL) exit(6);
    for (size_t i = 0; i < bytes; ++i) data[i] = (char)(side->rank == 0 ? i % 127 : 0);
    int count = 1 + (int)(2e5 / (2000 + (double)bytes)); // both sides count alike
    trips(side, data, bytes, count);
    const int taken = bytes > 1 << 20 ? 51 : kSamples;
    for (int i = 0; i < taken; ++i) samples[i] = trips(side, data, bytes, count);
    int wrong = 0;
    for (size_t i = 0; i < bytes; ++i) wrong += data[i] != (char)(i % 127);
    qsort(samples, (size_t)taken, sizeof *samples, compare);
    if (side->rank == 0) printf("bytes=%zu ns=%.1f samples=%d wrong=%d\n", bytes, samples[taken / 2], taken, wrong);
    fflush(stdout);
    free(data);
}

static char **sizes;

static void measure_all(side_t *side) {
    for (int i = 0; sizes[i] != NULL; ++i) measure(side, (size_t)strtoull(sizes[i], NULL, 10));
}

#ifdef WITH_MPI
int main(int argc, char **argv) {
    side_t side = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &side.rank);
    sizes = argv + 1;
    measure_all(&side);
    MPI_Finalize();
    return 0;
}
#else
static int32_t step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    side_t side = {replica, (int)mdist_replica_id(replica)};
    measure_all(&side);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    sizes = argv + 1;
    if (mdist_strategy_create(NULL, &strategy, &error) != MDIST_OK ||
        mdist_run(strategy, step, NULL, NULL, &error) != MDIST_OK) {
        fprintf(stderr, "%s\n", mdist_error_message(error));
        return 3;
    }
    mdist_strategy_destroy(strategy);
    return 0;
}
#endif
