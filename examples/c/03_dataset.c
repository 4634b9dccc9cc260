// SPDX-License-Identifier: Apache-2.0
/*
 * Input divided over replicas, and their results reduced to one.
 *
 * Ten numbers are shuffled and come in batches of four. Each batch is divided over two replicas; the last batch has
 * only two rows. A run takes a batch as its argument and returns the squares as its result. mdist_strategy_reduce
 * computes one mean over the rows of a batch: 4, 4 and 2 rows. Weighted by these counts, the means give the mean of all
 * ten squares: 38.5.
 */
#include "check.h"

enum { NUMBERS = 10, BATCH = 4 };

static int32_t square(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_tensor_t numbers, squares;
    float results[BATCH];
    if (mdist_replica_argument(replica, 0, NULL, &numbers, NULL) != MDIST_OK) return 1;
    const float *const mine = numbers.data;
    for (uint64_t row = 0; row < numbers.shape[0]; ++row) results[row] = mine[row] * mine[row];

    if (mdist_tensor_describe(results, MDIST_FLOAT32, numbers.shape, 1, &squares, NULL) != MDIST_OK) return 1;
    return mdist_replica_set_result(replica, 0, NULL, &squares, NULL) != MDIST_OK;
}

// Numbers in memory, in a new order for each iteration, in batches divided over the replicas.
static mdist_dataset_t *input(mdist_strategy_t *strategy, float *numbers) {
    mdist_dataset_t *rows = NULL, *shuffled = NULL, *batches = NULL, *distributed = NULL;
    mdist_tensor_t tensor;
    must(mdist_tensor_describe(numbers, MDIST_FLOAT32, (const uint64_t[]){NUMBERS}, 1, &tensor, &problem));
    must(mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &rows, NULL, &problem));
    must(mdist_dataset_shuffle(rows, NUMBERS, 7, &shuffled, NULL, &problem));
    must(mdist_dataset_batch(shuffled, BATCH, &batches, NULL, &problem));
    must(mdist_distribute_dataset(strategy, batches, &distributed, NULL, &problem));
    mdist_dataset_destroy(rows); // each dataset keeps its source alive
    mdist_dataset_destroy(shuffled);
    mdist_dataset_destroy(batches);
    return distributed;
}

// Returns how many rows all replicas of the job got.
static uint64_t rows_of(mdist_strategy_t *strategy, mdist_iterator_t *iterator) {
    const size_t replicas = mdist_strategy_replica_count(strategy);
    uint64_t *const rows = calloc(replicas, sizeof *rows), all = 0;
    must(rows ? mdist_iterator_row_counts(iterator, rows, replicas, &problem) : MDIST_ERR_OUT_OF_MEMORY);
    for (size_t i = 0; i < replicas; ++i) all += rows[i];
    free(rows);
    return all;
}

// Returns the mean over all rows on all replicas.
static float mean_of_squares(mdist_strategy_t *strategy, mdist_value_t *batch) {
    mdist_value_t *squares = NULL, *mean = NULL;
    mdist_tensor_t tensor;
    must(mdist_run(strategy, square, NULL,
                   &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &batch, .argument_count = 1,
                                     .results = &squares, .result_count = 1},
                   &problem));
    must(mdist_strategy_reduce_axes(strategy, MDIST_MEAN, squares, (const int32_t[]){0}, 1, &mean, NULL, &problem));
    must(mdist_value_tensor(mean, 0, &tensor, &problem));
    const float result = *(const float *)tensor.data;
    mdist_value_destroy(squares);
    mdist_value_destroy(mean);
    return result;
}

int main(void) {
    float numbers[NUMBERS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, sum = 0;
    mdist_strategy_t *strategy = strategy_on("cpu*2");
    mdist_dataset_t *dataset = input(strategy, numbers);
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *batch = NULL;
    mdist_status_t status;

    must(mdist_iterator_create(dataset, &iterator, &problem));
    while ((status = mdist_iterator_next(iterator, &batch, 1, &problem)) == MDIST_OK) {
        const uint64_t rows = rows_of(strategy, iterator);
        const float mean = mean_of_squares(strategy, batch);
        printf("%d rows, mean of squares %g\n", (int)rows, (double)mean);
        sum += mean * (float)rows;
        mdist_value_destroy(batch);
    }
    must(status == MDIST_END ? MDIST_OK : status);
    printf("mean of all: %g\n", (double)(sum / NUMBERS));

    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
    mdist_strategy_destroy(strategy);
    return 0;
}
