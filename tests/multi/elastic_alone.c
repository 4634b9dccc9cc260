// SPDX-License-Identifier: Apache-2.0
#include "elastic_alone.h"

#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DO(call)                                                                                         \
    do {                                                                                                 \
        mdist_error_t *problem = NULL;                                                                   \
        if ((call) == MDIST_OK) break;                                                                   \
        printf("%s failed: %s: %s\n", #call, mdist_error_reason(problem), mdist_error_message(problem)); \
        mdist_error_free(problem);                                                                       \
        return 3;                                                                                        \
    } while (0)

/// One replica alone doubles its weights by a graph that adds them to themselves.
typedef struct Doubling {
    mdist_variable_t *weights;
    float *copy; // on the card
    uint32_t recorded;
} Doubling;

static mdist_tensor_t three(float *data) {
    mdist_tensor_t tensor = {.data = data, .dtype = MDIST_FLOAT32, .rank = 1, .shape = {3}};
    return tensor;
}

static int32_t record_doubling(mdist_replica_t *replica, void *user_data) {
    Doubling *const self = user_data;
    const mdist_tensor_t copy = three(self->copy);
    const mdist_buffer_t buffer = {self->copy, 3, MDIST_FLOAT32, 0};
    mdist_tensor_t own;
    ++self->recorded;
    DO(mdist_variable_tensor(self->weights, 0, &own, &problem));
    DO(mdist_replica_copy(replica, &copy, &own, &problem));
    DO(mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &problem));
    DO(mdist_replica_assign(replica, self->weights, MDIST_ASSIGN_ADD, &copy, NULL, &problem));
    return 0;
}

static int32_t double_by_graph(mdist_replica_t *replica, void *user_data) {
    return mdist_replica_graph(replica, 1, record_doubling, user_data, NULL) != MDIST_OK;
}

static int32_t double_between(mdist_replica_t *replica, void *user_data) {
    int32_t record = 0;
    if (mdist_replica_graph_begin(replica, 1, &record, NULL) != MDIST_OK) return 1;
    if (record == 1 && record_doubling(replica, user_data) != 0) return 2;
    return mdist_replica_graph_end(replica, NULL) == MDIST_OK ? 0 : 3;
}

/// Runs the step that TEST_GRAPH names.
static mdist_status_t run_doubling(mdist_strategy_t *strategy, Doubling *doubling, mdist_error_t **error) {
    const char *const way = getenv("TEST_GRAPH");
    mdist_replica_t *replica;
    if (way == NULL) return mdist_run(strategy, double_by_graph, doubling, NULL, error);
    if (strcmp(way, "between") == 0) return mdist_run(strategy, double_between, doubling, NULL, error);
    mdist_status_t status = mdist_run_begin(strategy, NULL, error);
    if (status == MDIST_OK) status = mdist_replica_enter(strategy, 0, &replica, error);
    if (status != MDIST_OK) return status;
    (void)mdist_replica_exit(replica, double_between(replica, doubling), NULL); // the run's end tells of failures
    return mdist_run_end(strategy, NULL, 0, error);
}

/// Says what a run and the regroup after it failed with.
static int failed(mdist_strategy_t *strategy, mdist_error_t *error) {
    mdist_change_t change = {.struct_size = sizeof change};
    printf("run failed: %s: %s\n", mdist_error_reason(error), mdist_error_message(error));
    mdist_error_free(error);
    DO(mdist_regroup(strategy, &change, NULL, &problem));
    return 3;
}

/// Steps 0 to 2, a commit, steps 3 and 4, which are lost, and steps 3 to 5.
int elastic_alone(void) {
    mdist_strategy_t *strategy;
    mdist_error_t *error = NULL;
    mdist_value_t *value;
    mdist_tensor_t read;
    Doubling doubling = {NULL, NULL, 0};
    float begin[3] = {1, 2, 3};
    const mdist_tensor_t initial = three(begin);
    mdist_change_t change = {.struct_size = sizeof change};
    DO(mdist_strategy_create(NULL, &strategy, &problem));
    DO(mdist_variable_create(strategy, "weights", &initial, &doubling.weights, NULL, &problem));
    for (int generation = 1; generation <= 2; ++generation) {
        DO(mdist_alloc(strategy, 0, sizeof begin, (void **)&doubling.copy, &problem));
        for (uint32_t step = generation == 1 ? 0 : 3; step < (generation == 1 ? 5 : 6); ++step) {
            if (run_doubling(strategy, &doubling, &error) != MDIST_OK) return failed(strategy, error);
            if (step == 2) DO(mdist_commit(strategy, 3, NULL, &problem));
        }
        mdist_free(doubling.copy);
        if (generation == 2) break;
        mdist_strategy_abort(strategy);
        DO(mdist_regroup(strategy, &change, NULL, &problem));
    }
    DO(mdist_variable_read(doubling.weights, &value, NULL, &problem));
    DO(mdist_value_tensor(value, 0, &read, &problem));
    printf("result %g %g %g, recorded %u times\n", (double)((float *)read.data)[0], (double)((float *)read.data)[1],
           (double)((float *)read.data)[2], doubling.recorded);
    mdist_value_destroy(value);
    mdist_variable_destroy(doubling.weights);
    mdist_strategy_destroy(strategy);
    return 0;
}
