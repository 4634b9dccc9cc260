// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of dataset.h. context.h explains the table.
#include "context.h"
#include "dataset_options.h"

static int32_t idle_map(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                        size_t output_count, void *user_data) {
    (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)user_data;
    return 0;
}

static mdist_status_t drop_dataset(mdist_status_t status, mdist_dataset_t *dataset) {
    mdist_dataset_destroy(dataset);
    return status;
}

CALL(iterator_next) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_iterator_next(w->iterator, &out, 1, error);
    return drop_value(status, out);
}

CALL(iterator_close) {
    return mdist_iterator_close(w->iterator, error);
}
CALL(dataset_from_tensors) {
    mdist_dataset_t *out = NULL;
    const mdist_tensor_t tensor = tensor_in(w);
    const mdist_status_t status = mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_shard) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_shard(w->dataset, 2, 1, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_shuffle) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_shuffle(w->dataset, 2, 1, &out, &same_order, error);
    return drop_dataset(status, out);
}
CALL(dataset_repeat) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_repeat(w->dataset, 2, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_map) {
    mdist_dataset_t *out = NULL;
    const mdist_tensor_t tensor = tensor_of(NULL, MDIST_FLOAT32, 0);
    const mdist_status_t status = mdist_dataset_map(w->dataset, idle_map, NULL, NULL, &tensor, 1, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_batch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_batch(w->dataset, 2, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_prefetch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_prefetch(w->dataset, 2, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(distribute_dataset) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_distribute_dataset(w->strategy, w->batched, &out, NULL, error);
    return drop_dataset(status, out);
}
static int32_t make_batched(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    (void)context;
    World *const w = user_data;
    return mdist_dataset_batch(w->dataset, 2, out, NULL, NULL) == MDIST_OK ? 0 : 1;
}
CALL(distribute_from_function) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_distribute_from_function(w->strategy, make_batched, w, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_explain) {
    char text[256];
    return mdist_dataset_explain(w->batched, text, sizeof text, NULL, error);
}
CALL(input_context_batch_size) {
    (void)w;
    const mdist_input_context_t context = {sizeof context, 1, 0, 2};
    uint64_t size = 0;
    return mdist_input_context_batch_size(&context, 4, &size, error);
}
CALL(iterator_row_counts) {
    uint64_t rows[2];
    return mdist_iterator_row_counts(w->dealt, rows, 2, error);
}
CALL(iterators_wait) {
    (void)w;
    int32_t done = 0;
    return mdist_iterators_wait(0, &done, error);
}
CALL(iterator_create) {
    mdist_iterator_t *out = NULL;
    const mdist_status_t status = mdist_iterator_create(w->dataset, &out, error);
    mdist_iterator_destroy(out);
    return status;
}

CALL(iterator_next_value) {
    mdist_value_t *out = NULL;
    const mdist_status_t status = mdist_iterator_next_value(w->batches, &out, error);
    return drop_value(status, out);
}
CALL(iterator_save) {
    char text[512];
    return mdist_iterator_save(w->iterator, text, sizeof text, NULL, error);
}
CALL(iterator_restore) {
    char text[512] = "";
    mdist_iterator_save(w->iterator, text, sizeof text, NULL, NULL);
    return mdist_iterator_restore(w->iterator, text, error);
}
CALL(iterator_component) {
    mdist_tensor_t tensor;
    return mdist_iterator_component(w->iterator, 0, &tensor, NULL, NULL, error);
}
CALL(dataset_component) {
    mdist_tensor_t tensor;
    return mdist_dataset_component(w->dataset, 0, &tensor, NULL, NULL, error);
}
CALL(dataset_with_paths) {
    const char *const path = "x";
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_with_paths(w->dataset, &path, 1, &out, NULL, error);
    return drop_dataset(status, out);
}

static int32_t idle_filter(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data) {
    (void)inputs, (void)input_count, (void)keep, (void)user_data;
    return 0;
}
CALL(dataset_filter) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_filter(w->dataset, idle_filter, NULL, NULL, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_take) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_take(w->dataset, 2, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_skip) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_skip(w->dataset, 2, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_concatenate) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_concatenate(w->dataset, w->dataset, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_zip) {
    mdist_dataset_t *out = NULL;
    const mdist_dataset_t *sources[] = {w->dataset, w->dataset};
    const mdist_status_t status = mdist_dataset_zip(sources, 2, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_cache) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_cache(w->dataset, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_padded_batch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_padded_batch(w->dataset, 2, NULL, 0, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_unbatch) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_unbatch(w->batched, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_rebatch) {
    mdist_dataset_t *out = NULL;
    const uint64_t size = 2;
    const mdist_status_t status = mdist_dataset_rebatch(w->batched, &size, 1, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(iterator_skipped) {
    uint64_t count = 0;
    return mdist_iterator_skipped(w->iterator, &count, error);
}

static const Entry entries[] = {
    ENTRY(iterator_next, OUTSIDE),
    ENTRY(dataset_from_tensors, ANYWHERE),
    ENTRY(dataset_shard, ANYWHERE),
    ENTRY(dataset_shuffle, ANYWHERE),
    ENTRY(dataset_repeat, ANYWHERE),
    ENTRY(dataset_map, ANYWHERE),
    ENTRY(dataset_batch, ANYWHERE),
    ENTRY(dataset_prefetch, ANYWHERE),
    ENTRY(distribute_dataset, OUTSIDE),
    ENTRY(iterators_wait, ANYWHERE),
    ENTRY(iterator_create, ANYWHERE),
    ENTRY(iterator_close, ANYWHERE),
    ENTRY(iterator_next_value, OUTSIDE),
    ENTRY(iterator_component, ANYWHERE),
    ENTRY(dataset_component, ANYWHERE),
    ENTRY(dataset_with_paths, ANYWHERE),
    ENTRY(dataset_filter, ANYWHERE),
    ENTRY(dataset_take, ANYWHERE),
    ENTRY(dataset_skip, ANYWHERE),
    ENTRY(dataset_concatenate, ANYWHERE),
    ENTRY(dataset_zip, ANYWHERE),
    ENTRY(dataset_cache, ANYWHERE),
    ENTRY(dataset_padded_batch, ANYWHERE),
    ENTRY(dataset_unbatch, ANYWHERE),
    ENTRY(dataset_rebatch, ANYWHERE),
    ENTRY(iterator_skipped, ANYWHERE),
    ENTRY(distribute_from_function, OUTSIDE),
    ENTRY(dataset_explain, ANYWHERE),
    ENTRY(input_context_batch_size, ANYWHERE),
    ENTRY(iterator_row_counts, ANYWHERE),
    ENTRY(iterator_save, ANYWHERE),
    ENTRY(iterator_restore, ANYWHERE),
};
const Table data_table = {entries, sizeof entries / sizeof *entries};
