// SPDX-License-Identifier: Apache-2.0
/*
 * Gradients reduced while the step computes.
 *
 * A line y = a x + b is fitted to points; each replica of a worker has its own points. The gradients lie in memory of
 * the library. The step reports each gradient as soon as it is ready, and its sum over all replicas is under way while
 * the next one is computed. Two small batches are accumulated before anything is reduced. The norm of all gradients is
 * clipped to 1.
 */
#include "check.h"

enum { REPLICAS = 2, POINTS = 4, ROUNDS = 2, STEPS = 60 };

typedef struct Fit {
    mdist_gradients_t *gradients; // 0: of a, 1: of b
    double line[REPLICAS][2];     // a and b of this worker's; the same on every replica, since the gradients are
    double norm;                  // of the last step's gradients, before clipping
} Fit;

// Computes a replica's gradients for the points of one round. Gradient 1 is complete before gradient 0.
static int compute(mdist_replica_t *replica, Fit *self, double *const gradient[2], int round) {
    const uint32_t local = mdist_replica_local_index(replica);
    double error[POINTS], x[POINTS];
    for (int i = 0; i < POINTS; ++i) {
        x[i] = (local * ROUNDS + round) * POINTS + i - 7.5; // -7.5 to 7.5 over a worker's replicas and rounds
        error[i] = self->line[local][0] * x[i] + self->line[local][1] - (0.5 * x[i] + 3);
    }
    *gradient[1] = 0;
    for (int i = 0; i < POINTS; ++i) *gradient[1] += error[i] / POINTS;
    if (mdist_gradients_ready(replica, self->gradients, 1, NULL) != MDIST_OK) return 1;
    *gradient[0] = 0;
    for (int i = 0; i < POINTS; ++i) *gradient[0] += error[i] * x[i] / POINTS;
    return mdist_gradients_ready(replica, self->gradients, 0, NULL) != MDIST_OK;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Fit *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    double *gradient[2], norm = 0;
    int32_t finite = 0;
    for (size_t i = 0; i < 2; ++i) {
        mdist_tensor_t tensor;
        if (mdist_gradients_tensor(self->gradients, local, i, &tensor, NULL) != MDIST_OK) return 1;
        gradient[i] = tensor.data;
    }
    for (int round = 0; round < ROUNDS; ++round) {
        const int last = round + 1 == ROUNDS;
        if (!last && mdist_gradients_accumulate(replica, self->gradients, NULL) != MDIST_OK) return 1;
        if (compute(replica, self, gradient, round) != 0) return 1;
        if (mdist_gradients_wait(replica, self->gradients, &norm, &finite, NULL) != MDIST_OK) return 1;
    }
    if (local == 0) self->norm = norm;
    if (!finite) return 0; // all replicas skip this step
    self->line[local][0] -= 0.05 * *gradient[0];
    self->line[local][1] -= 0.5 * *gradient[1];
    return 0;
}

int main(void) {
    Fit self = {.norm = 0};
    mdist_strategy_t *strategy = strategy_on("cpu*2");
    mdist_tensor_t like[2] = {{.dtype = MDIST_FLOAT64}, {.dtype = MDIST_FLOAT64}};
    const mdist_gradients_options_t options = {.struct_size = sizeof options, .op = MDIST_MEAN, .clip_norm = 1};
    must(mdist_gradients_create(strategy, like, 2, &self.gradients, &options, &problem));
    for (int i = 0; i < STEPS; ++i) {
        must(mdist_run(strategy, step, &self, NULL, &problem));
        if (i == 0) printf("first norm: %.3f\n", self.norm);
    }
    const uint32_t first = REPLICAS * mdist_strategy_rank(strategy);
    for (uint32_t i = 0; i < REPLICAS; ++i)
        printf("replica %u: %.3f x + %.3f\n", first + i, self.line[i][0], self.line[i][1]);
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
    return 0;
}
