// SPDX-License-Identifier: Apache-2.0
// mdist_all_reduce in a loop, inside one step of a strategy made from the environment; one replica per worker.
#include "loop.h"

#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSkipped = 77 };

typedef struct worker {
    const options_t *options;
    mdist_strategy_t *strategy;
    mdist_replica_t *replica;
} worker_t;

// A timed loop cannot handle an error. The others notice the end of the connection.
static void require_ok(mdist_status_t status, mdist_error_t *error, const char *what) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, mdist_status_name(status), mdist_error_message(error));
    exit(1);
}

static void reduce(const worker_t *worker, mdist_reduce_op_t op, const mdist_buffer_t *input,
                   const mdist_buffer_t *output) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_all_reduce(worker->replica, op, input, output, 1, NULL, &error);
    if (status != MDIST_OK) require_ok(status, error, "mdist_all_reduce");
}

static void all_reduce(void *state, float *input, float *output, size_t elements) {
    const mdist_buffer_t from = {.data = input, .elements = elements, .dtype = MDIST_FLOAT32};
    const mdist_buffer_t to = {.data = output, .elements = elements, .dtype = MDIST_FLOAT32};
    reduce(state, MDIST_SUM, &from, &to);
}

static double largest(void *state, double value) {
    const mdist_buffer_t buffer = {.data = &value, .elements = 1, .dtype = MDIST_FLOAT64};
    reduce(state, MDIST_MAX, &buffer, &buffer);
    return value;
}

static void *allocate(void *state, size_t bytes) {
    const worker_t *const worker = state;
    if (strcmp(worker->options->memory, "library") != 0) return allocate_ordinary(NULL, bytes);
    void *memory = NULL;
    mdist_error_t *error = NULL;
    require_ok(mdist_alloc(worker->strategy, 0, bytes, &memory, &error), error, "mdist_alloc");
    return memory;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    worker_t *const worker = user_data;
    worker->replica = replica;
    const contestant_t mdist = {.state = worker,
                                .rank = mdist_replica_id(replica),
                                .size = (int)mdist_replica_count(replica),
                                .allocate = allocate,
                                .all_reduce = all_reduce,
                                .largest = largest};
    return run_loop(&mdist, worker->options);
}

int main(int argc, char **argv) {
    options_t options;
    if (read_options(argc, argv, &options) != 0) return 2;
    worker_t worker = {.options = &options};
    mdist_error_t *error = NULL;
    mdist_status_t status = mdist_strategy_create(NULL, &worker.strategy, &error);
    if (status == MDIST_ERR_UNSUPPORTED) {
        fprintf(stderr, "%s\n", mdist_error_message(error));
        return kSkipped;
    }
    require_ok(status, error, "mdist_strategy_create");
    const char *const size = getenv("MDIST_SIZE");
    if (size != NULL && mdist_strategy_replica_count(worker.strategy) != (uint32_t)atoi(size)) {
        fprintf(stderr, "this library makes a job of %u replicas where the environment says %s\n",
                mdist_strategy_replica_count(worker.strategy), size);
        return kSkipped;
    }
    status = mdist_run(worker.strategy, step, &worker, NULL, &error);
    require_ok(status, error, "mdist_run");
    mdist_strategy_destroy(worker.strategy);
    return 0;
}
