// SPDX-License-Identifier: Apache-2.0
/*
 * A run on your own threads, without callbacks: for programs that have threads already.
 *
 * The strategy is told to start no threads (`executor: caller`). Three threads each enter one replica, gather the
 * values of all, and exit. Threads need not pass errors to each other: mdist_run_end returns the first one.
 */
#include <pthread.h>

#include "check.h"

enum { REPLICAS = 3, MOST = 3 * 16 }; // of this worker, and of all

typedef struct Worker {
    pthread_t thread;
    mdist_strategy_t *strategy;
    uint32_t local_replica;
} Worker;

// Between enter and exit a thread is in replica context, as in a step. Results are the replicas' parts of a value.
static int32_t gather(mdist_replica_t *replica) {
    const uint32_t id = mdist_replica_id(replica);
    uint32_t mine = 10 * (id + 1), all[MOST];
    const uint64_t count = mdist_replica_count(replica);
    const mdist_buffer_t input = {.data = &mine, .elements = 1, .dtype = MDIST_UINT32};
    const mdist_buffer_t output = {.data = all, .elements = count, .dtype = MDIST_UINT32};
    mdist_tensor_t result;
    if (count > MOST) return 1;
    if (mdist_all_gather(replica, &input, &output, 1, NULL, NULL) != MDIST_OK) return 1;
    if (mdist_tensor_describe(all, MDIST_UINT32, &count, 1, &result, NULL) != MDIST_OK) return 1;
    return mdist_replica_set_result(replica, 0, NULL, &result, NULL) != MDIST_OK;
}

static void *work(void *argument) {
    const Worker *const self = argument;
    mdist_replica_t *replica = NULL;
    if (mdist_replica_enter(self->strategy, self->local_replica, &replica, NULL) != MDIST_OK) return NULL;
    mdist_replica_exit(replica, gather(replica), NULL); // a nonzero code releases the others and fails the run
    return NULL;
}

static mdist_strategy_t *strategy_without_threads(void) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    must(mdist_config_create(&config, &problem));
    must(mdist_config_load_environment(config, &problem));
    must(mdist_config_set(config, "devices", "cpu*3", &problem));
    must(mdist_config_set(config, "executor", "caller", &problem));
    must(mdist_strategy_create(config, &strategy, &problem));
    mdist_config_destroy(config);
    return strategy;
}

int main(void) {
    mdist_strategy_t *strategy = strategy_without_threads();
    Worker workers[REPLICAS];
    mdist_value_t *gathered = NULL;

    must(mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .result_count = 1}, &problem));
    for (uint32_t i = 0; i < REPLICAS; ++i) {
        workers[i] = (Worker){.strategy = strategy, .local_replica = i};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fputs("cannot start a thread\n", stderr);
            exit(1);
        }
    }
    for (int i = 0; i < REPLICAS; ++i) pthread_join(workers[i].thread, NULL);
    must(mdist_run_end(strategy, &gathered, 1, &problem));

    for (size_t i = 0; i < REPLICAS; ++i) {
        mdist_tensor_t tensor;
        must(mdist_value_tensor(gathered, i, &tensor, &problem));
        const uint32_t *const all = tensor.data;
        printf("replica %zu:", REPLICAS * mdist_strategy_rank(strategy) + i);
        for (uint64_t of = 0; of < tensor.shape[0]; ++of) printf(" %u", all[of]);
        printf("\n");
    }
    mdist_value_destroy(gathered);
    mdist_strategy_destroy(strategy);
    return 0;
}
