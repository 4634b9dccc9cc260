// SPDX-License-Identifier: Apache-2.0
/*
 * A decision taken once for all: in the middle of a step, both replicas pause, one function sees what both brought, and
 * each goes on with what it decided.
 *
 * Here it is the learning rate, halved whenever the mean loss got worse. Were each replica to judge by its own loss,
 * they would not agree: in round 2 only one of them is worse off.
 */
#include "check.h"

enum { REPLICAS = 2, ROUNDS = 4 };

// What the replicas would compute from their parts of the data.
static const float losses[ROUNDS][REPLICAS] = {{8, 6}, {5, 3}, {4, 6}, {4, 2}};

typedef struct Training {
    float best_loss;
    float rate;
    float rates[REPLICAS]; // what each replica was told in the end
} Training;

static void say(const Training *self, float loss) {
    printf("mean loss %g: rate %g\n", (double)loss, (double)self->rate);
}

// Runs once, not once per replica, and outside of the step: functions that take the strategy are the right ones.
static int32_t decide(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                      mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count;
    Training *const self = user_data;
    mdist_value_t *mean = NULL;
    mdist_tensor_t tensor;
    mdist_status_t status = mdist_reduce(strategy, MDIST_MEAN, arguments[0], NULL, 0, &mean, NULL, NULL);
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
    const int32_t id = mdist_replica_id(replica);
    for (int round = 0; round < ROUNDS; ++round) {
        float loss = losses[round][id];
        mdist_tensor_t brought, decided;
        if (mdist_tensor_describe(&loss, MDIST_FLOAT32, NULL, 0, &brought, NULL) != MDIST_OK) return 1;
        if (mdist_merge_call(replica, decide, self, &brought, 1, &decided, 1, NULL, NULL) != MDIST_OK) return 1;
        self->rates[id] = *(const float *)decided.data; // ... and learn with it
    }
    return 0;
}

int main(void) {
    Training training = {.best_loss = 100, .rate = 1};
    mdist_strategy_t *strategy = strategy_on("cpu*2");
    must(mdist_run(strategy, step, &training, NULL, 0, NULL, 0, NULL, &problem));
    for (int i = 0; i < REPLICAS; ++i) printf("replica %d: rate %g\n", i, (double)training.rates[i]);
    mdist_strategy_destroy(strategy);
    return 0;
}
