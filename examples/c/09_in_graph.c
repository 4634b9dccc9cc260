// SPDX-License-Identifier: Apache-2.0
/*
 * One program that leads the replicas of all workers (in-graph).
 *
 * Each worker runs this same program and registers the step. Worker 0 continues as if all replicas were its own; the
 * others serve it. The program also works on one worker alone:
 *
 *   mdist launch -n 2 -- 09_in_graph
 */
#include "check.h"

enum { ROWS = 24, STEPS = 20 };
static const float rate = 0.5f;

// Computes the weight's gradient of the mean square of (weight x - y) for this replica's rows. Assigning it to this
// variable then takes one step along the mean gradient of all replicas.
static int32_t train(mdist_replica_t *replica, void *user_data) {
    mdist_variable_t *weight = NULL;
    mdist_tensor_t x, y, copy;
    const uint32_t local = mdist_replica_local_index(replica);
    if (mdist_variable_named(user_data, "weight", &weight, NULL) != MDIST_OK ||
        mdist_variable_tensor(weight, local, &copy, NULL) != MDIST_OK ||
        mdist_replica_argument(replica, 0, NULL, &x, NULL) != MDIST_OK ||
        mdist_replica_argument(replica, 1, NULL, &y, NULL) != MDIST_OK)
        return 1;
    const float *const xs = x.data, *const ys = y.data;
    float step = 0, loss = 0;
    for (uint64_t i = 0; i < x.shape[0]; ++i) {
        const float error = *(const float *)copy.data * xs[i] - ys[i];
        loss += error * error / (float)x.shape[0];
        step += rate * 2 * error * xs[i] / (float)x.shape[0];
    }
    const mdist_tensor_t down = {.data = &step, .dtype = MDIST_FLOAT32};
    const mdist_tensor_t result = {.data = &loss, .dtype = MDIST_FLOAT32};
    const int failed = mdist_replica_assign(replica, weight, MDIST_ASSIGN_SUB, &down, NULL, NULL) != MDIST_OK ||
                       mdist_replica_set_result(replica, 0, NULL, &result, NULL) != MDIST_OK;
    mdist_variable_destroy(weight);
    return failed;
}

static float number_of(mdist_value_t *value) {
    mdist_tensor_t tensor;
    must(mdist_value_tensor(value, 0, &tensor, &problem));
    const float number = *(const float *)tensor.data;
    mdist_value_destroy(value);
    return number;
}

// All rows, divided over all replicas of the job, repeated.
static mdist_iterator_t *rows_of(mdist_strategy_t *strategy) {
    static float x[ROWS], y[ROWS];
    for (int i = 0; i < ROWS; ++i) y[i] = 3 * (x[i] = (float)(i + 1) / ROWS);
    const mdist_tensor_t xy[] = {{.data = x, .dtype = MDIST_FLOAT32, .rank = 1, .shape = {ROWS}},
                                 {.data = y, .dtype = MDIST_FLOAT32, .rank = 1, .shape = {ROWS}}};
    mdist_dataset_t *rows = NULL, *batch = NULL, *repeated = NULL, *cut = NULL;
    mdist_iterator_t *iterator = NULL;
    must(mdist_dataset_from_tensors(xy, 2, NULL, NULL, &rows, NULL, &problem));
    must(mdist_dataset_batch(rows, ROWS, &batch, NULL, &problem));
    must(mdist_dataset_repeat(batch, STEPS, &repeated, NULL, &problem));
    must(mdist_distribute_dataset(strategy, repeated, &cut, NULL, &problem));
    must(mdist_iterator_create(cut, &iterator, &problem));
    mdist_dataset_destroy(cut);
    mdist_dataset_destroy(repeated);
    mdist_dataset_destroy(batch);
    mdist_dataset_destroy(rows);
    return iterator;
}

static void lead(mdist_strategy_t *strategy) {
    const mdist_tensor_t zero = {.dtype = MDIST_FLOAT32};
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_MEAN};
    mdist_variable_t *weight = NULL;
    must(mdist_variable_create(strategy, "weight", &zero, &weight, &options, &problem));
    mdist_iterator_t *const iterator = rows_of(strategy);
    mdist_value_t *xy[2], *losses = NULL, *result = NULL;
    for (int step = 0; mdist_iterator_next(iterator, xy, 2, &problem) == MDIST_OK; ++step) {
        must(mdist_run_named(strategy, "train",
                             &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = xy, .argument_count = 2,
                                               .results = &losses, .result_count = 1},
                             &problem));
        must(mdist_strategy_reduce(strategy, MDIST_MEAN, losses, &result, NULL, &problem));
        const float loss = number_of(result);
        if (step % 5 == 0) printf("step %d: loss %.3f\n", step, (double)loss);
        mdist_value_destroy(losses);
        mdist_value_destroy(xy[0]);
        mdist_value_destroy(xy[1]);
    }
    must(mdist_variable_read(weight, &result, NULL, &problem));
    printf("weight: %.3f\n", (double)number_of(result));
    mdist_iterator_destroy(iterator);
    mdist_variable_destroy(weight);
}

int main(void) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    must(mdist_config_create(&config, &problem));
    must(mdist_config_load_environment(config, &problem)); // which workers there are
    must(mdist_config_set(config, "strategy", "in_graph", &problem));
    must(mdist_config_set(config, "devices", "cpu*2", &problem));
    must(mdist_strategy_create(config, &strategy, &problem));
    mdist_config_destroy(config);

    must(mdist_step_register(strategy, "train", train, strategy, &problem));
    if (mdist_strategy_rank(strategy) == 0)
        lead(strategy);
    else
        must(mdist_serve(strategy, NULL, &problem));
    mdist_strategy_destroy(strategy); // lets the others stop serving
    return 0;
}
