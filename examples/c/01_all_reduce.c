// SPDX-License-Identifier: Apache-2.0
/*
 * The smallest program: four replicas on this machine's CPU, and one sum over all of them.
 *
 *   cc 01_all_reduce.c $(pkg-config --cflags --libs mdist) -o 01_all_reduce && ./01_all_reduce
 *
 * The replicas start with 1, 2, 3 and 4. All end with the sum, 10. With `mdist launch -n 2 -- ./01_all_reduce` there
 * are eight replicas in two processes, which end with 36.
 */
#include <mdist/mdist.h>
#include <stdio.h>

enum { REPLICAS = 4 }; // of each worker

typedef struct Result {
    uint32_t id;
    float sum;
} Result;

// Runs once per replica, on all of them at the same time.
static int32_t step(mdist_replica_t *replica, void *user_data) {
    const uint32_t id = mdist_replica_id(replica);
    float number = (float)(id + 1);
    const mdist_buffer_t buffer = {.data = &number, .elements = 1, .dtype = MDIST_FLOAT32};

    // In place: the sum replaces the replica's number. Every replica waits here for all others.
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;

    Result *const results = user_data;
    results[mdist_replica_local_index(replica)] = (Result){id, number};
    return 0;
}

int main(void) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    Result results[REPLICAS];

    mdist_status_t status = mdist_config_create(&config, &error);
    if (status == MDIST_OK) status = mdist_config_load_environment(config, &error); // from a launcher, if there is one
    if (status == MDIST_OK) status = mdist_config_set(config, "devices", "cpu*4", &error);
    if (status == MDIST_OK) status = mdist_strategy_create(config, &strategy, &error);
    if (status == MDIST_OK) status = mdist_run(strategy, step, results, NULL, &error);
    if (status == MDIST_OK)
        for (int i = 0; i < REPLICAS; ++i) printf("replica %u: %g\n", results[i].id, (double)results[i].sum);
    else
        fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(error));

    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    return status != MDIST_OK;
}
