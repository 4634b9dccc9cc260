// SPDX-License-Identifier: Apache-2.0
/*
 * Records in files. Each worker reads its own files:
 *
 *     10_records /tmp/numbers
 *     mdist launch -n 4 -- 10_records /tmp/numbers
 */
#include <string.h>
#include "check.h"

enum { FILES = 4, RECORDS = 6, BATCH = 8, MOST_REPLICAS = 64 }; // BATCH: records per step, over all replicas of the job

static void write_files(const char *const *paths) {
    for (int file = 0; file < FILES; ++file) {
        mdist_record_writer_t *writer = NULL;
        must(mdist_record_writer_create(paths[file], &writer, NULL, &problem));
        for (int i = 0; i < RECORDS; ++i) {
            const float number = (float)(file * RECORDS + i);
            must(mdist_record_writer_write(writer, &number, sizeof number, &problem));
        }
        must(mdist_record_writer_close(writer, &problem)); // now the file has its final name
        mdist_record_writer_destroy(writer);
    }
}

// A record that is not a number ends the iteration on all workers.
static int32_t parse(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                     size_t output_count, void *user_data) {
    (void)input_count, (void)output_count, (void)user_data;
    if (inputs[0].shape[0] != sizeof(float)) return 1;
    memcpy(outputs[0].data, inputs[0].data, sizeof(float));
    return 0;
}

// Waits for all workers, so that the files that the first worker wrote are there.
static mdist_dataset_t *input(mdist_strategy_t *strategy, const char *const *paths) {
    const mdist_tensor_t number = {.dtype = MDIST_FLOAT32};
    // The step adds on the CPU, so elements stay in host memory even if replicas have GPUs.
    const mdist_input_options_t on_host = {.struct_size = sizeof on_host, .fetch_to_device = -1};
    mdist_dataset_t *names = NULL, *records = NULL, *numbers = NULL, *batches = NULL, *dealt = NULL;
    must(mdist_dataset_files(paths, FILES, &names, NULL, &problem)); // opened when they are first read
    must(mdist_dataset_tfrecords(names, &records, NULL, &problem));
    must(mdist_dataset_map(records, parse, NULL, NULL, &number, 1, &numbers, NULL, &problem));
    must(mdist_dataset_batch(numbers, BATCH, &batches, NULL, &problem));
    must(mdist_distribute_dataset(strategy, batches, &dealt, &on_host, &problem)); // policy AUTO divides by file here
    mdist_dataset_destroy(names);
    mdist_dataset_destroy(records);
    mdist_dataset_destroy(numbers);
    mdist_dataset_destroy(batches);
    return dealt;
}

static int32_t sum(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_tensor_t numbers;
    float total = 0;
    if (mdist_replica_argument(replica, 0, NULL, &numbers, NULL) != MDIST_OK) return 1;
    for (uint64_t i = 0; i < numbers.shape[0]; ++i) total += ((const float *)numbers.data)[i]; // may be empty
    const mdist_tensor_t result = {.data = &total, .dtype = MDIST_FLOAT32};
    return mdist_replica_set_result(replica, 0, NULL, &result, NULL) != MDIST_OK;
}

// Returns the sum of `batch` over all replicas. Destroys the batch.
static float sum_of(mdist_strategy_t *strategy, mdist_value_t *batch) {
    mdist_value_t *sums = NULL, *all = NULL;
    mdist_tensor_t tensor;
    must(mdist_run(strategy, sum, NULL,
                   &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &batch, .argument_count = 1, .results = &sums,
                                     .result_count = 1},
                   &problem));
    must(mdist_strategy_reduce(strategy, MDIST_SUM, sums, &all, NULL, &problem));
    must(mdist_value_tensor(all, 0, &tensor, &problem));
    const float total = *(const float *)tensor.data;
    mdist_value_destroy(batch);
    mdist_value_destroy(sums);
    mdist_value_destroy(all);
    return total;
}

int main(int count, char **arguments) {
    char names[FILES][4096], how[4096];
    const char *paths[FILES];
    for (int i = 0; i < FILES; ++i) {
        snprintf(names[i], sizeof names[i], "%s-%d.tfrecord", count > 1 ? arguments[1] : "numbers", i);
        paths[i] = names[i];
    }
    mdist_strategy_t *strategy = NULL;
    must(mdist_strategy_create(NULL, &strategy, &problem));
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    const int first = mdist_strategy_rank(strategy) == 0;
    if (replicas > MOST_REPLICAS) return 1;
    if (first) write_files(paths);

    mdist_dataset_t *dataset = input(strategy, paths);
    must(mdist_dataset_explain(dataset, how, sizeof how, NULL, &problem));
    if (first) fputs(how, stderr); // who reads which files, and why

    mdist_iterator_t *iterator = NULL;
    mdist_value_t *batch = NULL;
    mdist_status_t status;
    uint64_t rows[MOST_REPLICAS], seen = 0;
    float total = 0;
    must(mdist_iterator_create(dataset, &iterator, &problem));
    while ((status = mdist_iterator_next(iterator, &batch, 1, &problem)) == MDIST_OK) { // ends on all workers at once
        must(mdist_iterator_row_counts(iterator, rows, replicas, &problem));
        for (uint32_t i = 0; i < replicas; ++i) seen += rows[i];
        total += sum_of(strategy, batch);
    }
    if (status != MDIST_END) must(status);
    if (first) printf("%d rows, mean %g\n", (int)seen, (double)(total / (float)seen));
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
    mdist_strategy_destroy(strategy);
    return 0;
}
