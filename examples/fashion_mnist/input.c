// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <string.h>

// Bytes to floats batch by batch: 60000 images as floats would be 188 MB.
static int32_t normalise(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                         size_t output_count, void *user_data) {
    (void)input_count, (void)output_count, (void)user_data;
    const uint8_t *pixels = inputs[0].data;
    float *images = outputs[0].data;
    const size_t rows = inputs[0].shape[0];
    for (size_t i = 0; i < rows * MNIST_PIXELS; ++i) images[i] = (float)pixels[i] * (1.0f / 255.0f);
    if (rows > 0) memcpy(outputs[1].data, inputs[1].data, rows);
    return 0;
}

static mdist_status_t from_set(const MnistSet *set, mdist_dataset_t **out, mdist_error_t **error) {
    const uint64_t shape[] = {set->count, MNIST_PIXELS};
    mdist_tensor_t arrays[2];
    mdist_status_t status = mdist_tensor_describe(set->images, MDIST_UINT8, shape, 2, &arrays[0], error);
    if (status == MDIST_OK) status = mdist_tensor_describe(set->labels, MDIST_UINT8, shape, 1, &arrays[1], error);
    if (status == MDIST_OK) status = mdist_dataset_from_tensors(arrays, 2, NULL, NULL, out, error);
    return status;
}

mdist_status_t input_create(mdist_strategy_t *strategy, const MnistSet *set, uint64_t batch, uint64_t shuffle_seed,
                            mdist_dataset_t **out, mdist_error_t **error) {
    const mdist_tensor_t normalised[] = {
        {.dtype = MDIST_FLOAT32, .rank = 2, .shape = {MDIST_ROWS, MNIST_PIXELS}},
        {.dtype = MDIST_UINT8, .rank = 1, .shape = {MDIST_ROWS}},
    };
    mdist_dataset_t *rows = NULL, *shuffled = NULL, *batches = NULL, *floats = NULL, *ready = NULL;
    mdist_status_t status = from_set(set, &rows, error);
    if (status == MDIST_OK && shuffle_seed != 0)
        status = mdist_dataset_shuffle(rows, set->count, shuffle_seed, 1, &shuffled, error);
    if (status == MDIST_OK) status = mdist_dataset_batch(shuffled ? shuffled : rows, batch, 0, &batches, error);
    if (status == MDIST_OK) status = mdist_dataset_map(batches, normalise, NULL, NULL, normalised, 2, &floats, error);
    if (status == MDIST_OK) status = mdist_dataset_prefetch(floats, 2, &ready, error);
    if (status == MDIST_OK) status = mdist_distribute_dataset(strategy, ready, out, NULL, error);

    // Each keeps what it is made from.
    mdist_dataset_destroy(rows);
    mdist_dataset_destroy(shuffled);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(floats);
    mdist_dataset_destroy(ready);
    return status;
}
