// SPDX-License-Identifier: Apache-2.0
/*
 * Gradients in the program's own memory.
 *
 * A net of two layers learns y = x1 x2. All its parameters lie in one array, and so do their gradients, as in llm.c and
 * other plain C programs. What libmdist adds is between the marks: it lends that array, and after the backward pass the
 * array holds the mean over all replicas. One worker with two replicas and two workers with one print the same bits:
 *
 *     MDIST_DEVICES='cpu*2' 12_flat_gradients
 *     MDIST_DEVICES='cpu*1' mdist launch -n 2 -- 12_flat_gradients
 */
#include "check.h"

#include <math.h>
#include <string.h>

enum { HIDDEN = 8, ROWS = 32, STEPS = 1000, PARAMETERS = HIDDEN * 4 + 1 }; // of a layer 2 -> 8 and a layer 8 -> 1

typedef struct Model {
    float parameters[PARAMETERS], gradients[PARAMETERS];
    float loss;
} Model;

// The forward and the backward pass over some of the rows.
static void compute(Model *self, uint32_t first, uint32_t count) {
    const float *w1 = self->parameters, *b1 = w1 + 2 * HIDDEN, *w2 = b1 + HIDDEN, *b2 = w2 + HIDDEN;
    float *dw1 = self->gradients, *db1 = dw1 + 2 * HIDDEN, *dw2 = db1 + HIDDEN, *db2 = dw2 + HIDDEN;
    memset(self->gradients, 0, sizeof self->gradients);
    self->loss = 0;
    for (uint32_t row = first; row < first + count; ++row) {
        const float x1 = (float)(row % 8) / 4 - 0.875f, x2 = (float)(row / 8) / 2 - 0.75f;
        float hidden[HIDDEN], y = *b2;
        for (int h = 0; h < HIDDEN; ++h) {
            hidden[h] = tanhf(w1[2 * h] * x1 + w1[2 * h + 1] * x2 + b1[h]);
            y += w2[h] * hidden[h];
        }
        const float error = (y - x1 * x2) / (float)count;
        self->loss += (y - x1 * x2) * error;
        *db2 += error;
        for (int h = 0; h < HIDDEN; ++h) {
            const float back = error * w2[h] * (1 - hidden[h] * hidden[h]);
            dw2[h] += error * hidden[h];
            db1[h] += back;
            dw1[2 * h] += back * x1;
            dw1[2 * h + 1] += back * x2;
        }
    }
}

static void change(Model *self) {
    for (int i = 0; i < PARAMETERS; ++i) self->parameters[i] -= 0.5f * self->gradients[i];
}

static void begin(Model *self) {
    for (int i = 0; i < PARAMETERS; ++i) self->parameters[i] = (float)(i * 37 % 19 - 9) / 19;
}

// ---- What libmdist adds.

typedef struct Training {
    Model *models; // one for each local replica
    mdist_gradients_t *gradients;
} Training;

static int32_t step(mdist_replica_t *replica, void *user_data) {
    const Training *self = user_data;
    Model *model = &self->models[mdist_replica_local_index(replica)];
    const uint32_t rows = ROWS / mdist_replica_count(replica);
    compute(model, mdist_replica_id(replica) * rows, rows);
    if (mdist_gradients_ready(replica, self->gradients, 0, NULL) != MDIST_OK) return 1;
    if (mdist_gradients_wait(replica, self->gradients, NULL, NULL, NULL) != MDIST_OK) return 1;
    change(model); // the gradients are the same on all replicas now
    return 0;
}

int main(void) {
    mdist_strategy_t *strategy = NULL;
    must(mdist_strategy_create(NULL, &strategy, &problem));
    const uint32_t replicas = mdist_strategy_local_replica_count(strategy);
    Training self = {.models = calloc(replicas, sizeof *self.models)};
    mdist_tensor_t *flat = calloc(replicas, sizeof *flat);
    for (uint32_t r = 0; r < replicas; ++r) {
        begin(&self.models[r]);
        flat[r] = (mdist_tensor_t){self.models[r].gradients, MDIST_FLOAT32, 1, MDIST_DEVICE_CPU, 0, {PARAMETERS}};
    }
    const mdist_gradients_options_t options = {.struct_size = sizeof options, .op = MDIST_MEAN};
    must(mdist_gradients_create_lent(strategy, flat, 1, &self.gradients, &options, &problem));
    for (int i = 0; i < STEPS; ++i) must(mdist_run(strategy, step, &self, NULL, &problem));

    // ---- What it has learnt: the bits of all parameters, and the error over all rows.
    if (mdist_strategy_is_chief(strategy)) {
        uint32_t bits = 0, word;
        for (int i = 0; i < PARAMETERS; ++i) {
            memcpy(&word, &self.models[0].parameters[i], sizeof word);
            bits = bits * 31 + word;
        }
        compute(&self.models[0], 0, ROWS);
        printf("loss %.4f, parameters %08x\n", self.models[0].loss, bits);
    }
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
    free(flat);
    free(self.models);
    return 0;
}
