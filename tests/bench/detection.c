// SPDX-License-Identifier: Apache-2.0
// A worker of tests/bench/detection. It runs collectives until one fails, and prints when its run has returned. The
// worker at fault causes the fault itself, or it comes from outside. Usage: detection_worker FAULT RANK_AT_FAULT
#include <inttypes.h>
#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH = 100000, EVENT = 40 /* the operation with the fault */ };

typedef enum Fault { STRUCK, MISMATCH, FAILING } Fault;

typedef struct Job {
    Fault fault; // of this worker
    float *numbers;
    int64_t event_ns;
} Job;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// The step: small and large collectives in turn.
static int32_t step(mdist_replica_t *replica, void *user_data) {
    Job *job = user_data;
    for (int32_t i = 0;; ++i) {
        mdist_buffer_t buffer = {job->numbers, i % 2 == 0 ? 10 : LENGTH, MDIST_FLOAT32, 0};
        if (i == EVENT) {
            puts("busy");
            fflush(stdout);
        }
        if (i == EVENT && job->fault != STRUCK) {
            job->event_ns = now_ns();
            if (job->fault == FAILING) return 77;
            buffer.elements = 11;
        }
        if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;
    }
}

int main(int argument_count, char **arguments) {
    if (argument_count != 3) return 2;
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    Job job = {.fault = STRUCK, .numbers = calloc(LENGTH, sizeof(float))};
    mdist_log_set_level(MDIST_LOG_OFF, NULL);
    if (job.numbers == NULL || mdist_strategy_create(NULL, &strategy, &error) != MDIST_OK) {
        fprintf(stderr, "%s\n", mdist_error_message(error));
        return 1;
    }
    if (mdist_strategy_rank(strategy) == (uint32_t)atoi(arguments[2])) {
        if (strcmp(arguments[1], "mismatch") == 0) job.fault = MISMATCH;
        if (strcmp(arguments[1], "step") == 0) job.fault = FAILING;
    }
    const mdist_status_t status = mdist_run(strategy, step, &job, NULL, &error);
    printf("%" PRId64 " %" PRId64 " %s %d\n", now_ns(), job.event_ns, mdist_status_name(status),
           mdist_error_rank(error));
    fflush(stdout);
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
    free(job.numbers);
    return 0;
}
