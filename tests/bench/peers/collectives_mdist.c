// SPDX-License-Identifier: Apache-2.0
// The collectives of libmdist, inside one step of a strategy made from the environment; one replica per worker.
#include "collectives.h"

#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>

static mdist_replica_t *replica;
static mdist_error_t *error;

static void must(mdist_status_t status) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "%s\n", mdist_error_message(error));
    exit(1);
}
static mdist_buffer_t in(size_t elements) {
    return (mdist_buffer_t){input, elements, MDIST_FLOAT32, 0};
}
static mdist_buffer_t out(size_t elements) {
    return (mdist_buffer_t){elements == 0 ? NULL : output, elements, MDIST_FLOAT32, 0};
}
static size_t at_root(size_t elements) {
    return rank == root ? elements : 0;
}

void all_gather(void) {
    const mdist_buffer_t from = in(lengths[rank]), to = out(total);
    must(mdist_all_gather(replica, &from, &to, 1, NULL, &error));
}
void reduce_scatter(void) {
    const mdist_buffer_t from = in(total), to = out(lengths[rank]);
    must(mdist_reduce_scatter(replica, MDIST_SUM, &from, &to, 1, NULL, &error));
}
void all_to_all(void) {
    const mdist_buffer_t from = in(total), to = out(total);
    must(mdist_all_to_all(replica, &from, &to, 1, NULL, &error));
}
void broadcast(void) {
    const mdist_buffer_t buffer = in(total);
    must(mdist_broadcast(replica, (uint32_t)root, &buffer, 1, NULL, &error));
}
void gather(void) {
    const mdist_buffer_t from = in(lengths[rank]), to = out(at_root(total));
    must(mdist_gather_to_root(replica, (uint32_t)root, &from, &to, 1, NULL, &error));
}
void scatter(void) {
    mdist_buffer_t from = in(at_root(total));
    const mdist_buffer_t to = out(lengths[rank]);
    if (rank != root) from.data = NULL;
    must(mdist_scatter(replica, (uint32_t)root, &from, &to, 1, NULL, &error));
}
void reduce(void) {
    const mdist_buffer_t from = in(total), to = out(at_root(total));
    must(mdist_reduce_to_root(replica, MDIST_SUM, (uint32_t)root, &from, &to, 1, NULL, &error));
}
double over_ranks(double value, int sum) {
    const mdist_buffer_t buffer = {&value, 1, MDIST_FLOAT64, 0};
    must(mdist_all_reduce(replica, sum ? MDIST_SUM : MDIST_MAX, &buffer, &buffer, 1, NULL, &error));
    return value;
}
void lengths_changed(void) {}

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
    must(mdist_run(strategy, step, &command, NULL, &error));
    mdist_strategy_destroy(strategy);
    return 0;
}
