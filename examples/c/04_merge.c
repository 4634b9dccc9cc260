// SPDX-License-Identifier: Apache-2.0
/*
 * One decision for all replicas: in the middle of a step, both replicas pause. One function sees the values of both,
 * and each replica continues with its decision.
 *
 * Here the decision is the learning rate, which is halved whenever the mean loss got worse. If each replica judged by
 * its own loss, they would not agree: in round 2 only one of them got worse.
 */
#include "check.h"

enum { REPLICAS = 2, ROUNDS = 4 };

// The losses that the replicas of each worker would compute from their parts of the data.
static const float losses[ROUNDS][REPLICAS] = {{8, 6}, {5, 3}, {4, 6}, {4, 2}};

typedef struct Training {
    float best_loss;
    float rate;
    float rates[REPLICAS]; // the rate that each replica got last
} Training;

static void say(const Training *self, float loss) {
    printf("mean loss %g: rate %g\n", (double)loss, (double)self->rate);
}

// Runs once, not once per replica, and outside of the step: call functions that take the strategy here.
static int32_t decide(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                      mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count;
    Training *const self = user_data;
    mdist_value_t *mean = NULL;
    mdist_tensor_t tensor;
    mdist_status_t status = mdist_strategy_reduce(strategy, MDIST_MEAN, arguments[0], &mean, NULL, NULL);
    if (status == MDIST_OK) status = mdist_value_tensor(mean, 0, &tensor, NULL);
    if (status == MDIST_OK) {
        const float loss = *(const float *)tensor.data;
        if (loss > self->best_loss) self->rate /= 2;
        if (loss < self->best_loss) self->best_loss = loss;
        say(self, loss);
        tensor.data = &self->rate; // again one float32
        status = mdist_value_create(&tensor, &results[0], NULL);
    }
    mdist_value_destroy(mean);
    return status != MDIST_OK;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Training *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    for (int round = 0; round < ROUNDS; ++round) {
        float loss = losses[round][local];
        mdist_tensor_t brought, decided;
        if (mdist_tensor_describe(&loss, MDIST_FLOAT32, NULL, 0, &brought, NULL) != MDIST_OK) return 1;
        if (mdist_merge_call(replica, decide, self, &brought, 1, &decided, 1, NULL, NULL) != MDIST_OK) return 1;
        self->rates[local] = *(const float *)decided.data; // ... and learn with it
    }
    return 0;
}

int main(void) {
    Training training = {.best_loss = 100, .rate = 1};
    mdist_strategy_t *strategy = strategy_on("cpu*2");
    must(mdist_run(strategy, step, &training, NULL, &problem));
    const uint32_t first = REPLICAS * mdist_strategy_rank(strategy);
    for (uint32_t i = 0; i < REPLICAS; ++i) printf("replica %u: rate %g\n", first + i, (double)training.rates[i]);
    mdist_strategy_destroy(strategy);
    return 0;
}
