// SPDX-License-Identifier: Apache-2.0
#include "elastic_alone.h"

#include <mdist/mdist.h>
#include <stdio.h>

#define DO(call)                                                                                       \
    do {                                                                                               \
        mdist_error_t *problem = NULL;                                                                 \
        if ((call) == MDIST_OK) break;                                                                 \
        printf("%s failed: %s\n", #call, problem != NULL ? mdist_error_message(problem) : "no words"); \
        mdist_error_free(problem);                                                                     \
        return 3;                                                                                      \
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

/// Steps 0 to 2, a commit, steps 3 and 4, which are lost, and steps 3 to 5.
int elastic_alone(void) {
    mdist_strategy_t *strategy;
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
            DO(mdist_run(strategy, double_by_graph, &doubling, NULL, 0, NULL, 0, NULL, &problem));
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
