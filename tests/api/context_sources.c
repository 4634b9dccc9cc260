// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of dataset_sources.h. context.h explains the table.
#include "context.h"

static mdist_status_t drop_dataset(mdist_status_t status, mdist_dataset_t *dataset) {
    mdist_dataset_destroy(dataset);
    return status;
}
CALL(dataset_range) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_range(0, 5, 1, &out, NULL, error);
    return drop_dataset(status, out);
}
static int32_t idle_generator(uint64_t index, const mdist_tensor_t *outputs, size_t count, void **state, void *data) {
    (void)index, (void)outputs, (void)count, (void)state, (void)data;
    return MDIST_END;
}
CALL(dataset_from_generator) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const mdist_tensor_t tensor = tensor_of(NULL, MDIST_FLOAT32, 0);
    const mdist_status_t status =
        mdist_dataset_from_generator(idle_generator, NULL, NULL, NULL, &tensor, 1, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_files) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const char *path = checkpoint_folder;
    const mdist_status_t status = mdist_dataset_files(&path, 1, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_match_files) {
    (void)w;
    mdist_dataset_t *out = NULL;
    const char *pattern = checkpoint_folder;
    const mdist_status_t status = mdist_dataset_match_files(&pattern, 1, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_text_lines) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_text_lines(w->names, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_fixed_records) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_fixed_records(w->names, 4, 0, 0, &out, NULL, error);
    return drop_dataset(status, out);
}
CALL(dataset_tfrecords) {
    mdist_dataset_t *out = NULL;
    const mdist_status_t status = mdist_dataset_tfrecords(w->names, &out, NULL, error);
    return drop_dataset(status, out);
}

CALL(record_writer_create) {
    (void)w;
    char path[128];
    mdist_record_writer_t *writer = NULL;
    snprintf(path, sizeof path, "%s/records-%p", checkpoint_folder, (void *)path); // a different path for each thread
    const mdist_status_t status = mdist_record_writer_create(path, &writer, NULL, error);
    mdist_record_writer_destroy(writer);
    return status;
}
CALL(record_writer_write) {
    return mdist_record_writer_write(w->writer, "record", 6, error);
}
CALL(record_writer_close) {
    return mdist_record_writer_close(w->closed_writer, error);
}

static const Entry entries[] = {
    ENTRY(dataset_range, ANYWHERE),       ENTRY(dataset_from_generator, ANYWHERE),
    ENTRY(dataset_files, ANYWHERE),       ENTRY(dataset_match_files, ANYWHERE),
    ENTRY(dataset_text_lines, ANYWHERE),  ENTRY(dataset_fixed_records, ANYWHERE),
    ENTRY(dataset_tfrecords, ANYWHERE),   ENTRY(record_writer_create, ANYWHERE),
    ENTRY(record_writer_write, ANYWHERE), ENTRY(record_writer_close, ANYWHERE),
};
const Table sources_table = {entries, sizeof entries / sizeof *entries};
