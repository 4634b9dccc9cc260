// SPDX-License-Identifier: Apache-2.0
/*
 * State that lives on every replica: a mirrored variable follows the mean of what the replicas write.
 *
 * Two replicas of each worker have their own measurements of one quantity. In every step, each replica computes how far
 * the estimate is from its own measurement, and subtracts half of that difference. The variable's aggregation takes the
 * mean of both writes and applies it to both copies. The copies therefore stay equal, and end at the mean of all
 * measurements: 3.
 */
#include <mdist/mdist.h>
#include <stdio.h>

static const float measurements[2] = {2.0f, 4.0f};

static int32_t step(mdist_replica_t *replica, void *user_data) {
    mdist_variable_t *const estimate = user_data;
    mdist_tensor_t copy, change;
    // This replica's own copy, in place: no call, no lock.
    if (mdist_variable_tensor(estimate, mdist_replica_local_index(replica), &copy, NULL) != MDIST_OK) return 1;
    const float now = *(const float *)copy.data;
    float error = 0.5f * (now - measurements[mdist_replica_local_index(replica)]);

    if (mdist_tensor_describe(&error, MDIST_FLOAT32, NULL, 0, &change, NULL) != MDIST_OK) return 1;
    return mdist_replica_assign(replica, estimate, MDIST_ASSIGN_SUB, &change, NULL, NULL) != MDIST_OK;
}

static mdist_status_t estimate_mean(mdist_strategy_t *strategy, mdist_error_t **error) {
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_MEAN};
    mdist_variable_t *estimate = NULL;
    mdist_value_t *value = NULL;
    mdist_tensor_t tensor;
    mdist_status_t status = mdist_tensor_describe(NULL, MDIST_FLOAT32, NULL, 0, &tensor, error); // no data: zero
    if (status == MDIST_OK) status = mdist_variable_create(strategy, "estimate", &tensor, &estimate, &options, error);
    for (int i = 0; i < 20 && status == MDIST_OK; ++i) status = mdist_run(strategy, step, estimate, NULL, error);
    if (status == MDIST_OK) status = mdist_variable_read(estimate, &value, NULL, error);
    if (status == MDIST_OK) status = mdist_value_tensor(value, 0, &tensor, error);
    if (status == MDIST_OK) printf("estimate: %.3f\n", (double)*(const float *)tensor.data);
    mdist_value_destroy(value);
    mdist_variable_destroy(estimate);
    return status;
}

int main(void) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;

    mdist_status_t status = mdist_config_create(&config, &error);
    if (status == MDIST_OK) status = mdist_config_load_environment(config, &error);
    if (status == MDIST_OK) status = mdist_config_set(config, "devices", "cpu*2", &error);
    if (status == MDIST_OK) status = mdist_strategy_create(config, &strategy, &error);
    if (status == MDIST_OK) status = estimate_mean(strategy, &error);
    if (status != MDIST_OK) fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(error));

    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    return status != MDIST_OK;
}
