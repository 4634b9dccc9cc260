// SPDX-License-Identifier: Apache-2.0
// Writes files for tests of datasets, in a folder of their own. The writers share no code with the library's readers.
#pragma once

#include "data.h"

#include <dirent.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];

MDIST_TEST_HELPER int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/mdist-data-XXXXXX");
    return mkdtemp(folder) == NULL;
}
MDIST_TEST_HELPER int remove_folder(void **state) {
    (void)state;
    DIR *entries = opendir(folder);
    if (entries == NULL) return -1;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    return rmdir(folder);
}

/// Returns the path of a file in the folder. Each path stays valid for seven more calls.
MDIST_TEST_HELPER const char *path_of(const char *name) {
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

MDIST_TEST_HELPER const char *write_file(const char *name, const void *data, size_t bytes) {
    const char *path = path_of(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    return path;
}
MDIST_TEST_HELPER const char *write_text(const char *name, const char *text) {
    return write_file(name, text, strlen(text));
}

/// Computes CRC-32C bit by bit from the polynomial.
MDIST_TEST_HELPER uint32_t slow_crc32c(const void *data, size_t bytes) {
    const unsigned char *from = data;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < bytes; ++i) {
        crc ^= from[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    }
    return ~crc;
}
MDIST_TEST_HELPER void put_little_endian(Text *text, uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        const char byte = (char)(number >> (8 * i));
        put_bytes(text, &byte, 1);
    }
}
MDIST_TEST_HELPER uint64_t masked_crc32c(const void *data, size_t bytes) {
    const uint32_t crc = slow_crc32c(data, bytes);
    return (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u);
}

/// Appends a TFRecord record. `length` is the length in its header, which may be wrong.
MDIST_TEST_HELPER void put_record_claiming(Text *text, uint64_t length, const void *data, size_t bytes) {
    const size_t at = text->length;
    put_little_endian(text, length, 8);
    put_little_endian(text, masked_crc32c(text->data + at, 8), 4);
    put_bytes(text, data, bytes);
    put_little_endian(text, masked_crc32c(data, bytes), 4);
}
MDIST_TEST_HELPER void put_record(Text *text, const char *data) {
    put_record_claiming(text, strlen(data), data, strlen(data));
}

/// Compresses `data` with zlib. `window` is 31 for GZIP and 15 for ZLIB.
MDIST_TEST_HELPER Text packed(const void *data, size_t bytes, int window) {
    z_stream stream = {0};
    Text out = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    out.capacity = deflateBound(&stream, (uLong)bytes) + 64;
    out.data = malloc(out.capacity);
    stream.next_in = (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)bytes;
    stream.next_out = (Bytef *)out.data;
    stream.avail_out = (uInt)out.capacity;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.length = stream.total_out;
    deflateEnd(&stream);
    return out;
}
MDIST_TEST_HELPER const char *write_out(const char *name, Text text) {
    const char *path = write_file(name, text.data, text.length);
    free(text.data);
    return path;
}

/// The number of files that every reader reads ahead.
static uint64_t parallel_files;

MDIST_TEST_HELPER mdist_read_options_t reading(void) {
    mdist_read_options_t options = {0};
    options.struct_size = sizeof options;
    options.parallel_files = parallel_files;
    return options;
}
MDIST_TEST_HELPER mdist_dataset_t *names(const char *const *paths, size_t count) {
    MADE(mdist_dataset_files(paths, count, &out, NULL, &error), NULL);
}
MDIST_TEST_HELPER mdist_dataset_t *file(const char *path) {
    return names(&path, 1);
}
MDIST_TEST_HELPER mdist_dataset_t *lines(mdist_dataset_t *files, const mdist_read_options_t *options) {
    const mdist_read_options_t plain = reading();
    MADE(mdist_dataset_text_lines(files, &out, options == NULL && parallel_files != 0 ? &plain : options, &error),
         files);
}
MDIST_TEST_HELPER mdist_dataset_t *fixed(mdist_dataset_t *files, uint64_t record, uint64_t header, uint64_t footer,
                                         const mdist_read_options_t *options) {
    const mdist_read_options_t plain = reading();
    MADE(mdist_dataset_fixed_records(files, record, header, footer, &out,
                                     options == NULL && parallel_files != 0 ? &plain : options, &error),
         files);
}
MDIST_TEST_HELPER mdist_dataset_t *tfrecords(mdist_dataset_t *files, const mdist_read_options_t *options) {
    const mdist_read_options_t plain = reading();
    MADE(mdist_dataset_tfrecords(files, &out, options == NULL && parallel_files != 0 ? &plain : options, &error),
         files);
}
