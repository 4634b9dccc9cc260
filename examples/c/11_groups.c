// SPDX-License-Identifier: Apache-2.0
/*
 * Two-dimensional training: two copies of a model, each split over two replicas.
 *
 *                      weights 0 and 1   weights 2 and 3
 *     samples 0, 1     replica 0         replica 1          <- a row has one copy of the model
 *     samples 2, 3     replica 2         replica 3
 *
 * The model is y = w . x with four weights. Each replica has two of them, so it computes a part of y. The parts are
 * added up in the replica's row (tensor parallel). The gradient of its weights is averaged in its column (data
 * parallel). So each replica is in two groups, and no call involves all four. The weights end at 1, 2, 3 and 4.
 */
#include <mdist/mdist.h>
#include <stdio.h>

enum { REPLICAS = 4, SAMPLES = 2, HALF = 2, STEPS = 40 };

static const float samples[REPLICAS][2 * HALF] = {{1, 0, 1, 0}, {0, 1, 0, -1}, {1, 0, -1, 0}, {0, 1, 0, 1}};
static const float targets[REPLICAS] = {4, -2, -2, 6};

typedef struct Model {
    mdist_group_t *rows[2], *columns[2];
    float weights[REPLICAS][HALF]; // of each replica
} Model;

// One step of gradient descent.
static int32_t step(mdist_replica_t *replica, void *user_data) {
    Model *const model = user_data;
    const uint32_t id = mdist_replica_id(replica), row = id / 2, column = id % 2;
    const mdist_call_options_t in_row = {.struct_size = sizeof in_row, .group = model->rows[row]};
    const mdist_call_options_t in_column = {.struct_size = sizeof in_column, .group = model->columns[column]};
    float *const weights = model->weights[id];

    // First this replica's part of y for the samples of its row, then the sum of the parts.
    float y[SAMPLES], gradient[HALF] = {0};
    for (uint32_t s = 0; s < SAMPLES; ++s) {
        const float *const x = samples[SAMPLES * row + s] + HALF * column;
        y[s] = weights[0] * x[0] + weights[1] * x[1];
    }
    const mdist_buffer_t outputs = {.data = y, .elements = SAMPLES, .dtype = MDIST_FLOAT32};
    if (mdist_all_reduce(replica, MDIST_SUM, &outputs, &outputs, 1, &in_row, NULL) != MDIST_OK) return 1;

    for (uint32_t s = 0; s < SAMPLES; ++s) {
        const float *const x = samples[SAMPLES * row + s] + HALF * column;
        const float error = y[s] - targets[SAMPLES * row + s];
        for (uint32_t i = 0; i < HALF; ++i) gradient[i] += error * x[i] / SAMPLES;
    }
    const mdist_buffer_t gradients = {.data = gradient, .elements = HALF, .dtype = MDIST_FLOAT32};
    if (mdist_all_reduce(replica, MDIST_MEAN, &gradients, &gradients, 1, &in_column, NULL) != MDIST_OK) return 2;

    for (uint32_t i = 0; i < HALF; ++i) weights[i] -= gradient[i];
    return 0;
}

int main(void) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    Model model = {{NULL}, {NULL}, {{0}}};

    mdist_status_t status = mdist_config_create(&config, &error);
    if (status == MDIST_OK) status = mdist_config_set(config, "devices", "cpu*4", &error);
    if (status == MDIST_OK) status = mdist_strategy_create(config, &strategy, &error);
    for (uint32_t i = 0; i < 2 && status == MDIST_OK; ++i) {
        const uint32_t row[] = {2 * i, 2 * i + 1}, column[] = {i, i + 2};
        status = mdist_group_create(strategy, row, 2, &model.rows[i], &error);
        if (status == MDIST_OK) status = mdist_group_create(strategy, column, 2, &model.columns[i], &error);
    }
    for (int i = 0; i < STEPS && status == MDIST_OK; ++i)
        status = mdist_run(strategy, step, &model, NULL, 0, NULL, 0, NULL, &error);
    for (int r = 0; r < REPLICAS && status == MDIST_OK; ++r)
        printf("replica %d: weights %.3f %.3f\n", r, (double)model.weights[r][0], (double)model.weights[r][1]);
    if (status != MDIST_OK) fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(error));

    mdist_error_free(error);
    for (int i = 0; i < 2; ++i) {
        mdist_group_destroy(model.rows[i]);
        mdist_group_destroy(model.columns[i]);
    }
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    return status != MDIST_OK;
}
