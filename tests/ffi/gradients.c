// SPDX-License-Identifier: Apache-2.0
/*
 * The training that the tests of all bindings repeat. They compare their output with this one's, bit for bit.
 *
 * y = a . x + b, with five weights, is fitted to points. Two replicas have their own points, and two rounds are added
 * up before anything is reduced. The gradient of b is complete before that of a, and each has a bucket of its own.
 * Every number is computed in double precision, one operation after the other, in the order that stands here.
 */
#include <inttypes.h>
#include <mdist/mdist.h>
#include <stdio.h>
#include <string.h>

enum { REPLICAS = 2, POINTS = 4, ROUNDS = 2, STEPS = 25, WEIGHTS = 5 };

typedef struct Fit {
    mdist_gradients_t *gradients;             // 0: of a, 1: of b
    double parameters[REPLICAS][WEIGHTS + 1]; // a and b; the same on every replica, since the gradients are
    double norm;                              // of the last step's gradients, before clipping
} Fit;

static double input(uint32_t id, int round, int point, int weight) {
    const double number = (double)((id * ROUNDS + (uint32_t)round) * POINTS + (uint32_t)point);
    return (number - 11.5) / 8.0 + (double)((weight * 7 + point * 3) % 5) * 0.25;
}

static int compute(mdist_replica_t *replica, Fit *self, double *a, double *b, int round) {
    const uint32_t id = mdist_replica_id(replica);
    const double *parameters = self->parameters[id];
    double error[POINTS];
    for (int i = 0; i < POINTS; ++i) {
        double found = parameters[WEIGHTS], wanted = 3.0;
        for (int j = 0; j < WEIGHTS; ++j) {
            found += parameters[j] * input(id, round, i, j);
            wanted += (0.5 - 0.125 * (double)j) * input(id, round, i, j);
        }
        error[i] = found - wanted;
    }
    *b = 0;
    for (int i = 0; i < POINTS; ++i) *b += error[i] / (double)POINTS;
    if (mdist_gradients_ready(replica, self->gradients, 1, NULL) != MDIST_OK) return 1;
    for (int j = 0; j < WEIGHTS; ++j) {
        a[j] = 0;
        for (int i = 0; i < POINTS; ++i) a[j] += error[i] * input(id, round, i, j) / (double)POINTS;
    }
    return mdist_gradients_ready(replica, self->gradients, 0, NULL) != MDIST_OK;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Fit *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    mdist_tensor_t a, b;
    double norm = 0;
    int32_t finite = 0;
    if (mdist_gradients_tensor(self->gradients, id, 0, &a, NULL) != MDIST_OK) return 1;
    if (mdist_gradients_tensor(self->gradients, id, 1, &b, NULL) != MDIST_OK) return 1;
    for (int round = 0; round < ROUNDS; ++round) {
        if (round + 1 < ROUNDS && mdist_gradients_accumulate(replica, self->gradients, NULL) != MDIST_OK) return 1;
        if (compute(replica, self, a.data, b.data, round) != 0) return 1;
        if (mdist_gradients_wait(replica, self->gradients, &norm, &finite, NULL) != MDIST_OK) return 1;
    }
    if (id == 0) self->norm = norm;
    for (int j = 0; j < WEIGHTS; ++j) self->parameters[id][j] -= 0.25 * ((double *)a.data)[j];
    self->parameters[id][WEIGHTS] -= 0.25 * *(double *)b.data;
    return !finite;
}

static void print_bits(const char *name, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    printf("%s %016" PRIx64 "\n", name, bits);
}

int main(void) {
    static Fit self;
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_tensor_t like[2] = {{.dtype = MDIST_FLOAT64, .rank = 1, .shape = {WEIGHTS}}, {.dtype = MDIST_FLOAT64}};
    const mdist_gradients_options_t options = {
        .struct_size = sizeof options, .op = MDIST_MEAN, .bucket_bytes = 8, .clip_norm = 1};
    mdist_status_t status = mdist_config_create(&config, &error);
    if (status == MDIST_OK) status = mdist_config_set(config, "devices", "cpu*2", &error);
    if (status == MDIST_OK) status = mdist_strategy_create(config, &strategy, &error);
    if (status == MDIST_OK) status = mdist_gradients_create(strategy, like, 2, &self.gradients, &options, &error);
    for (int i = 0; i < STEPS && status == MDIST_OK; ++i) {
        status = mdist_run(strategy, step, &self, NULL, &error);
        if (status == MDIST_OK) print_bits("norm", self.norm);
    }
    for (int j = 0; j <= WEIGHTS && status == MDIST_OK; ++j) print_bits("parameter", self.parameters[0][j]);
    if (status != MDIST_OK) fprintf(stderr, "%s\n", mdist_error_message(error));
    mdist_error_free(error);
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    return status != MDIST_OK;
}
