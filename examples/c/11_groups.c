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
 * parallel). So each replica is in two groups, and no call involves all four. The weights end at 1, 2, 3 and 4. More
 * workers bring more copies of the model, and lengthen the columns.
 */
#include <mdist/mdist.h>
#include <stdio.h>

enum { REPLICAS = 4, MOST_ROWS = 32, SAMPLES = 2, HALF = 2, STEPS = 40 };

// Of the rows of one worker.
static const float samples[2 * SAMPLES][2 * HALF] = {{1, 0, 1, 0}, {0, 1, 0, -1}, {1, 0, -1, 0}, {0, 1, 0, 1}};
static const float targets[2 * SAMPLES] = {4, -2, -2, 6};

typedef struct Model {
    mdist_group_t *rows[MOST_ROWS], *columns[2];
    float weights[REPLICAS][HALF]; // of each replica of this worker
} Model;

// One step of gradient descent.
static int32_t step(mdist_replica_t *replica, void *user_data) {
    Model *const model = user_data;
    const uint32_t id = mdist_replica_id(replica), row = id / 2, column = id % 2, first = SAMPLES * (row % 2);
    const mdist_call_options_t in_row = {.struct_size = sizeof in_row, .group = model->rows[row]};
    const mdist_call_options_t in_column = {.struct_size = sizeof in_column, .group = model->columns[column]};
    float *const weights = model->weights[mdist_replica_local_index(replica)];

    // First this replica's part of y for the samples of its row, then the sum of the parts.
    float y[SAMPLES], gradient[HALF] = {0};
    for (uint32_t s = 0; s < SAMPLES; ++s) {
        const float *const x = samples[first + s] + HALF * column;
        y[s] = weights[0] * x[0] + weights[1] * x[1];
    }
    const mdist_buffer_t outputs = {.data = y, .elements = SAMPLES, .dtype = MDIST_FLOAT32};
    if (mdist_all_reduce(replica, MDIST_SUM, &outputs, &outputs, 1, &in_row, NULL) != MDIST_OK) return 1;

    for (uint32_t s = 0; s < SAMPLES; ++s) {
        const float *const x = samples[first + s] + HALF * column;
        const float error = y[s] - targets[first + s];
        for (uint32_t i = 0; i < HALF; ++i) gradient[i] += error * x[i] / SAMPLES;
    }
    const mdist_buffer_t gradients = {.data = gradient, .elements = HALF, .dtype = MDIST_FLOAT32};
    if (mdist_all_reduce(replica, MDIST_MEAN, &gradients, &gradients, 1, &in_column, NULL) != MDIST_OK) return 2;

    for (uint32_t i = 0; i < HALF; ++i) weights[i] -= gradient[i];
    return 0;
}

static mdist_status_t make_groups(mdist_strategy_t *strategy, Model *model, mdist_error_t **error) {
    const uint32_t rows = mdist_strategy_replica_count(strategy) / 2;
    uint32_t columns[2][MOST_ROWS];
    mdist_status_t status = rows <= MOST_ROWS ? MDIST_OK : MDIST_ERR_UNSUPPORTED;
    for (uint32_t r = 0; r < rows && status == MDIST_OK; ++r) {
        const uint32_t row[] = {2 * r, 2 * r + 1};
        for (int c = 0; c < 2; ++c) columns[c][r] = row[c];
        status = mdist_group_create(strategy, row, 2, &model->rows[r], error);
    }
    for (int c = 0; c < 2 && status == MDIST_OK; ++c)
        status = mdist_group_create(strategy, columns[c], rows, &model->columns[c], error);
    return status;
}

int main(void) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    Model model = {{NULL}, {NULL}, {{0}}};

    mdist_status_t status = mdist_config_create(&config, &error);
    if (status == MDIST_OK) status = mdist_config_load_environment(config, &error);
    if (status == MDIST_OK) status = mdist_config_set(config, "devices", "cpu*4", &error);
    if (status == MDIST_OK) status = mdist_strategy_create(config, &strategy, &error);
    if (status == MDIST_OK) status = make_groups(strategy, &model, &error);
    for (int i = 0; i < STEPS && status == MDIST_OK; ++i) status = mdist_run(strategy, step, &model, NULL, &error);
    for (uint32_t r = 0; r < REPLICAS && status == MDIST_OK; ++r)
        printf("replica %u: weights %.3f %.3f\n", REPLICAS * mdist_strategy_rank(strategy) + r,
               (double)model.weights[r][0], (double)model.weights[r][1]);
    if (status != MDIST_OK) fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(error));

    mdist_error_free(error);
    for (int i = 0; i < MOST_ROWS; ++i) mdist_group_destroy(model.rows[i]);
    for (int i = 0; i < 2; ++i) mdist_group_destroy(model.columns[i]);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    return status != MDIST_OK;
}
