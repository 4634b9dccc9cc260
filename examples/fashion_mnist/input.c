// SPDX-License-Identifier: Apache-2.0
#include "input.h"

#include <stdio.h>
#include <string.h>

// Converts bytes to floats batch by batch, since 60000 images as floats would take 188 MB.
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
    if (status == MDIST_OK) status = mdist_dataset_from_tensors(arrays, 2, NULL, NULL, out, NULL, error);
    return status;
}

// Shuffles, batches, converts to floats with `map`, and splits over the replicas.
static mdist_status_t deal_out(mdist_strategy_t *strategy, mdist_dataset_t *rows, uint64_t count, uint64_t batch,
                               uint64_t shuffle_seed, mdist_map_fn map, mdist_dataset_t **out, mdist_error_t **error) {
    const mdist_tensor_t normalised[] = {
        {.dtype = MDIST_FLOAT32, .rank = 2, .shape = {MDIST_UNKNOWN_LENGTH, MNIST_PIXELS}},
        {.dtype = MDIST_UINT8, .rank = 1, .shape = {MDIST_UNKNOWN_LENGTH}},
    };
    // Every worker reads all rows and takes its own (policy DATA). So batches from memory and from files are the same.
    const mdist_input_options_t options = {.struct_size = sizeof options, .policy = MDIST_SHARD_DATA};
    mdist_dataset_t *shuffled = NULL, *batches = NULL, *floats = NULL, *ready = NULL;
    mdist_status_t status = MDIST_OK;
    if (shuffle_seed != 0) status = mdist_dataset_shuffle(rows, count, shuffle_seed, &shuffled, NULL, error);
    if (status == MDIST_OK) status = mdist_dataset_batch(shuffled ? shuffled : rows, batch, &batches, NULL, error);
    if (status == MDIST_OK) status = mdist_dataset_map(batches, map, NULL, NULL, normalised, 2, &floats, NULL, error);
    if (status == MDIST_OK) status = mdist_dataset_prefetch(floats, 2, &ready, NULL, error);
    if (status == MDIST_OK) status = mdist_distribute_dataset(strategy, ready, out, &options, error);

    // Each dataset keeps its source alive.
    mdist_dataset_destroy(shuffled);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(floats);
    mdist_dataset_destroy(ready);
    return status;
}

mdist_status_t input_create(mdist_strategy_t *strategy, const MnistSet *set, uint64_t batch, uint64_t shuffle_seed,
                            mdist_dataset_t **out, mdist_error_t **error) {
    mdist_dataset_t *rows = NULL;
    mdist_status_t status = from_set(set, &rows, error);
    if (status == MDIST_OK) status = deal_out(strategy, rows, set->count, batch, shuffle_seed, normalise, out, error);
    mdist_dataset_destroy(rows);
    return status;
}

// ---- From TFRecord files made by `mdist records`: each record is an image and its label.

static int32_t parse(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                     size_t output_count, void *user_data) {
    (void)input_count, (void)output_count, (void)user_data;
    const uint8_t *records = inputs[0].data;
    float *images = outputs[0].data;
    uint8_t *labels = outputs[1].data;
    if (inputs[0].shape[1] != MNIST_PIXELS + 1) return 1;
    for (size_t row = 0; row < inputs[0].shape[0]; ++row, records += MNIST_PIXELS + 1, images += MNIST_PIXELS) {
        for (size_t i = 0; i < MNIST_PIXELS; ++i) images[i] = (float)records[i] * (1.0f / 255.0f);
        labels[row] = records[MNIST_PIXELS];
        if (labels[row] >= MNIST_CLASSES) return 2;
    }
    return 0;
}

static mdist_status_t count_elements(const mdist_dataset_t *dataset, uint64_t *count, mdist_error_t **error) {
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_status_t status = mdist_iterator_create(dataset, &iterator, error);
    for (*count = 0; status == MDIST_OK; ++*count) {
        status = mdist_iterator_next(iterator, &value, 1, error);
        if (status != MDIST_OK) break;
        mdist_value_destroy(value);
    }
    mdist_iterator_destroy(iterator);
    return status == MDIST_END ? MDIST_OK : status;
}

mdist_status_t input_create_from_records(mdist_strategy_t *strategy, const char *folder, const char *prefix,
                                         uint64_t batch, uint64_t shuffle_seed, uint64_t *count, mdist_dataset_t **out,
                                         mdist_error_t **error) {
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/%s-*.tfrecord", folder, prefix);
    const char *const patterns[] = {pattern};
    mdist_read_options_t options = {.struct_size = sizeof options, .block_length = 1};
    mdist_dataset_t *names = NULL, *records = NULL;
    mdist_status_t status = mdist_dataset_match_files(patterns, 1, &names, NULL, error);
    // Takes one record from each file in turn. That is the order of the images.
    if (status == MDIST_OK) status = count_elements(names, &options.cycle_length, error);
    options.parallel_files = options.cycle_length;
    if (status == MDIST_OK) status = mdist_dataset_tfrecords(names, &records, &options, error);
    if (status == MDIST_OK) status = count_elements(records, count, error);
    if (status == MDIST_OK) status = deal_out(strategy, records, *count, batch, shuffle_seed, parse, out, error);
    mdist_dataset_destroy(names);
    mdist_dataset_destroy(records);
    return status;
}
