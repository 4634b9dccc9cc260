// SPDX-License-Identifier: Apache-2.0
// Batches of the records of files, which are read straight into their rows, hold the same bytes as the records do. This
// must be so whatever the sizes of records, also where the size changes from one batch to the next, and where files are
// damaged, compressed or read ahead.
#include "files.h"

static uint32_t noise;
static uint32_t below(uint32_t bound) {
    noise = noise * 1664525 + 1013904223;
    return (noise >> 8) % bound;
}

/// A file as it is written, and the elements that a program sees: each is one batch.
typedef struct Case {
    Text file;
    Text wanted; // the bytes of all batches in a row
    uint64_t rows[64], bytes[64];
    size_t batches;
    uint64_t damaged;
} Case;

enum { BATCH = 4 };

static const uint32_t kSizes[] = {0, 1, 5, 64, 1000, 4090, 20000, 40000, 140000, 300000};

/// Appends one record, which is `damaged` or part of the wanted bytes.
static void put_random_record(Case *at, size_t size, int damaged) {
    char *data = malloc(size + 1);
    for (size_t i = 0; i < size; ++i) data[i] = (char)below(256);
    const size_t begin = at->file.length;
    put_record_claiming(&at->file, size, data, size);
    if (damaged) {
        at->file.data[begin + 12 + size] ^= 1; // the checksum of the data
        ++at->damaged;
    } else {
        put_bytes(&at->wanted, data, size);
    }
    free(data);
}

/// Makes batches of one record size each. About half of them have the size of the batch before. The last may be short.
static Case random_case(uint32_t sizes, uint32_t damaged) {
    Case made = {0};
    put(&made.file, "");
    put(&made.wanted, "");
    made.batches = 1 + below(12);
    uint64_t size = kSizes[below(sizes)];
    for (size_t i = 0; i < made.batches; ++i) {
        if (below(2) == 0) size = kSizes[below(sizes)];
        made.rows[i] = i + 1 < made.batches ? BATCH : 1 + below(BATCH);
        made.bytes[i] = size;
        for (uint64_t row = 0; row < made.rows[i]; ++row) {
            if (damaged != 0 && below(damaged) == 0) put_random_record(&made, kSizes[below(sizes)], 1);
            put_random_record(&made, size, 0);
        }
    }
    return made;
}

static void check_batches(mdist_dataset_t *batches, const Case *wanted, size_t first, size_t count) {
    mdist_iterator_t *iterator = NULL;
    mdist_error_t *error = NULL;
    size_t at = 0;
    for (size_t i = 0; i < first; ++i) at += wanted->rows[i] * wanted->bytes[i];
    OK(mdist_iterator_create(batches, &iterator, &error));
    for (size_t i = first; i < first + count; ++i) {
        mdist_value_t *value = NULL;
        mdist_tensor_t tensor;
        OK(mdist_iterator_next(iterator, &value, 1, &error));
        OK(mdist_value_tensor(value, 0, &tensor, &error));
        assert_int_equal(tensor.rank, 2);
        assert_int_equal(tensor.shape[0], wanted->rows[i]);
        assert_int_equal(tensor.shape[1], wanted->bytes[i]);
        assert_int_equal((uintptr_t)tensor.data % 64, 0);
        assert_memory_equal(tensor.data, wanted->wanted.data + at, wanted->rows[i] * wanted->bytes[i]);
        at += wanted->rows[i] * wanted->bytes[i];
        mdist_value_destroy(value);
    }
    mdist_value_t *value = NULL;
    assert_int_equal(mdist_iterator_next(iterator, &value, 1, &error), MDIST_END);
    uint64_t skipped = 0;
    OK(mdist_iterator_skipped(iterator, &skipped, &error));
    if (first == 0) assert_int_equal(skipped, wanted->damaged);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(batches);
}

static void random_batches_hold_the_bytes_of_their_records(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 120; ++round) {
        noise = (uint32_t)test_seed(0) + round;
        Case at = random_case(round % 4 == 0 ? sizeof kSizes / sizeof *kSizes : 6, round % 3 == 0 ? 6 : 0);
        mdist_read_options_t options = reading();
        options.on_corrupt = at.damaged != 0 ? MDIST_ON_CORRUPT_SKIP : 0;
        options.parallel_files = round % 5 == 0;
        if (round % 7 == 0) options.compression = MDIST_COMPRESSION_GZIP;
        const char *path = options.compression != 0 ? write_out("random", packed(at.file.data, at.file.length, 31))
                                                    : write_file("random", at.file.data, at.file.length);
        check_batches(batch(tfrecords(file(path), &options), BATCH, 0), &at, 0, at.batches);
        // Transforms on the way that keep records as they are.
        const size_t first = below((uint32_t)at.batches), whole = at.batches - first;
        uint64_t rows = 0;
        for (size_t i = first; i < at.batches; ++i) rows += at.rows[i];
        check_batches(batch(take(without(repeat(shard(tfrecords(file(path), &options), 1, 0), 1), first * BATCH), rows),
                            BATCH, 0),
                      &at, first, whole);
        const int short_end = at.rows[at.batches - 1] != BATCH;
        if (at.damaged == 0)
            check_batches(batch(tfrecords(file(path), &options), BATCH, 1), &at, 0, at.batches - (short_end ? 1 : 0));
        free(at.file.data);
        free(at.wanted.data);
    }
}

/// The first batches are read straight into their rows by then.
static void records_of_different_sizes_in_a_later_batch_are_refused(void **state) {
    (void)state;
    GIVES(batch(lines(file(write_text("lines", "ab\ncd\nef\ngh\nij\nklm\n")), NULL), 2, 0),
          "[[97 98] [99 100]] [[101 102] [103 104]] !MDIST_ERR_MISMATCH");
    GIVES(batch(lines(file(write_text("grown", "ab\ncd\nef\ngh\nijk\nlm\n")), NULL), 2, 0),
          "[[97 98] [99 100]] [[101 102] [103 104]] !MDIST_ERR_MISMATCH");
    GIVES(batch(lines(file(write_text("cut", "ab\ncd\nef\n")), NULL), 2, 1), "[[97 98] [99 100]]");
    GIVES(batch(lines(file(write_text("empty", "\n\n\n\nab\ncd\n")), NULL), 2, 0),
          "[[] []] [[] []] [[97 98] [99 100]]");
    mdist_iterator_t *iterator = NULL;
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    mdist_dataset_t *batches = batch(lines(file(path_of("lines")), NULL), 2, 0);
    OK(mdist_iterator_create(batches, &iterator, &error));
    for (int i = 0; i < 2; ++i) {
        OK(mdist_iterator_next(iterator, &value, 1, &error));
        mdist_value_destroy(value);
    }
    assert_int_equal(mdist_iterator_next(iterator, &value, 1, &error), MDIST_ERR_MISMATCH);
    WORDS(error, "component 0 of element 1 of a batch has shape [3] and that of element 0 has [2]");
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(batches);
}

static void a_saved_position_lies_between_batches(void **state) {
    (void)state;
    mdist_dataset_t *batches = batch(fixed(file(write_text("fixed", "aabbccddeeffgg")), 2, 0, 0, NULL), 2, 0);
    for (int taken = 0; taken < 4; ++taken) {
        mdist_iterator_t *iterator = NULL, *other = NULL;
        mdist_error_t *error = NULL;
        Text before = {0}, after = {0};
        char saved[1024];
        put(&before, "");
        put(&after, "");
        OK(mdist_iterator_create(batches, &iterator, &error));
        OK(mdist_iterator_create(batches, &other, &error));
        for (int i = 0; i < taken; ++i) put_element(&before, iterator, 1);
        OK(mdist_iterator_save(iterator, saved, sizeof saved, NULL, &error));
        OK(mdist_iterator_restore(other, saved, &error));
        before.length = 0;
        put(&before, "");
        while (put_element(&before, iterator, 1) == MDIST_OK) continue;
        while (put_element(&after, other, 1) == MDIST_OK) continue;
        assert_string_equal(before.data, after.data);
        free(before.data);
        free(after.data);
        mdist_iterator_destroy(iterator);
        mdist_iterator_destroy(other);
    }
    mdist_dataset_destroy(batches);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_batches_hold_the_bytes_of_their_records),
        cmocka_unit_test(records_of_different_sizes_in_a_later_batch_are_refused),
        cmocka_unit_test(a_saved_position_lies_between_batches),
    };
    return cmocka_run_group_tests_name("batched records", tests, make_folder, remove_folder);
}
