// SPDX-License-Identifier: Apache-2.0
/*
 * Elastic training: the job goes on when a worker is killed, and ends with the same weight to the last bit.
 *
 *     export MDIST_ELASTIC_REPLICAS=4
 *     mdist launch -n 1:2 -- 13_elastic       # not disturbed
 *     mdist launch -n 1:2 -- 13_elastic 70    # in step 70 a worker kills itself; a new one takes its place
 *
 * The replicas learn y = 3 x from rows that are dealt out by replica id. What each of them draws at random is its own:
 * a blob. The state is kept every 10 steps, so the steps from 60 to 70 are made again.
 */
#include "check.h"

#include <signal.h>
#include <string.h>

enum { MOST_REPLICAS = 64, STEPS = 100, EVERY = 10 };

typedef struct Training {
    mdist_variable_t *weight;
    uint64_t random[MOST_REPLICAS]; // by replica id; a worker uses those of its own replicas
    uint64_t at;
    int dies;
} Training;

static int32_t save(uint32_t replica_id, void *to, size_t bytes, void *training) {
    memcpy(to, &((Training *)training)->random[replica_id], bytes);
    return 0;
}

static int32_t restore(uint32_t replica_id, const void *from, size_t bytes, void *training) {
    memcpy(&((Training *)training)->random[replica_id], from, bytes);
    return 0;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Training *const training = user_data;
    if (training->dies) raise(SIGKILL);
    mdist_tensor_t weight, rows;
    const uint32_t local = mdist_replica_local_index(replica);
    if (mdist_variable_tensor(training->weight, local, &weight, NULL) != MDIST_OK) return 1;
    if (mdist_replica_argument(replica, 0, NULL, &rows, NULL) != MDIST_OK) return 1;
    uint64_t *const random = &training->random[mdist_replica_id(replica)];
    float gradient = 0;
    for (uint64_t i = 0; i < rows.shape[0]; ++i) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        const float noise = (float)(*random >> 40) / 16777216.0f - 0.5f; // from -0.5 to 0.5
        const float x = (float)((const int64_t *)rows.data)[i] / 100.0f;
        gradient += (*(float *)weight.data * x - (3.0f * x + 0.01f * noise)) * x;
    }
    const mdist_buffer_t buffer = {&gradient, 1, MDIST_FLOAT32, 0};
    if (mdist_all_reduce(replica, MDIST_MEAN, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;
    *(float *)weight.data -= 0.2f * gradient;
    return 0;
}

static mdist_iterator_t *rows_of(mdist_strategy_t *strategy) {
    mdist_dataset_t *numbers, *shuffled, *repeated, *batches, *dealt;
    mdist_iterator_t *iterator;
    must(mdist_dataset_range(0, 100, 1, &numbers, NULL, &problem));
    must(mdist_dataset_shuffle(numbers, 100, 5, &shuffled, NULL, &problem));
    must(mdist_dataset_repeat(shuffled, MDIST_FOREVER, &repeated, NULL, &problem));
    const mdist_dataset_options_t whole = {.struct_size = sizeof whole, .flags = MDIST_DATASET_DROP_REMAINDER};
    must(mdist_dataset_batch(repeated, 8, &batches, &whole, &problem));
    must(mdist_distribute_dataset(strategy, batches, &dealt, NULL, &problem));
    must(mdist_iterator_create(dealt, &iterator, &problem));
    return iterator;
}

// One step, and now and then a commit. MDIST_OK, or why it failed.
static mdist_status_t go_on(mdist_strategy_t *strategy, mdist_iterator_t *iterator, Training *training) {
    mdist_value_t *rows = NULL;
    mdist_status_t status = mdist_iterator_next(iterator, &rows, 1, &problem);
    if (status == MDIST_OK)
        status =
            mdist_run(strategy, step, training,
                      &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &rows, .argument_count = 1}, &problem);
    mdist_value_destroy(rows);
    if (status != MDIST_OK || ++training->at % EVERY != 0) return status;
    return mdist_commit(strategy, training->at, NULL, &problem);
}

int main(int argc, char **argv) {
    static Training training;
    const uint64_t deadly = argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_MAX;
    mdist_strategy_t *strategy;
    mdist_blob_t *blob;
    must(mdist_strategy_create(NULL, &strategy, &problem));
    if (mdist_strategy_replica_count(strategy) > MOST_REPLICAS) return 2; // `random` has no more

    // Everything is created before the first step, on all workers alike, newcomers too.
    float zero = 0;
    const mdist_tensor_t like = {.data = &zero, .dtype = MDIST_FLOAT32};
    must(mdist_variable_create(strategy, "weight", &like, &training.weight, NULL, &problem));
    for (uint32_t id = 0; id < MOST_REPLICAS; ++id) training.random[id] = id;
    const size_t bytes = sizeof training.random[0];
    must(mdist_blob_create(strategy, "random", bytes, save, restore, &training, NULL, &blob, &problem));
    mdist_iterator_t *const iterator = rows_of(strategy);

    mdist_change_t change = {.struct_size = sizeof change, .generation = 1};
    int regroups = mdist_strategy_is_joining(strategy);
    while (regroups || training.at < STEPS) {
        if (regroups) {
            mdist_error_free(problem); // why: a worker was lost, if there was an error
            problem = NULL;
            must(mdist_regroup(strategy, &change, NULL, &problem));
            training.at = change.step;
        }
        training.dies = training.at == deadly && change.generation == 1 && mdist_strategy_rank(strategy) == 1;
        regroups = training.at < STEPS && go_on(strategy, iterator, &training) != MDIST_OK; // all steps may be done
        if (regroups || training.at % EVERY != 0) continue;
        int32_t verdict = MDIST_VERDICT_GO_ON; // do newcomers wait? After the last step, all meet here
        const mdist_status_t asked = mdist_membership_check(strategy, &verdict, NULL, NULL, &problem);
        regroups = asked != MDIST_OK || verdict == MDIST_VERDICT_REGROUP;
    }

    mdist_tensor_t weight;
    must(mdist_variable_tensor(training.weight, 0, &weight, &problem));
    if (mdist_strategy_is_chief(strategy)) printf("weight: %.9g\n", (double)*(float *)weight.data);
    mdist_iterator_destroy(iterator);
    mdist_blob_destroy(blob);
    mdist_variable_destroy(training.weight);
    mdist_strategy_destroy(strategy);
    return 0;
}
